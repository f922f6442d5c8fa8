import { isAscii, isUtf8 } from 'node:buffer';
import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import { canonicalAddress } from '../../lib/address.ts';

/** The content of a PKCS#10 request (RFC 2986), as far as a kubelet uses it. */
export interface CertificateRequest {
  readonly commonNames: readonly string[];
  readonly organizations: readonly string[];
  /** Object identifiers of what else is in the subject. */
  readonly otherSubject: readonly string[];
  readonly dnsNames: readonly string[];
  readonly addresses: readonly string[];
  /** Kinds of alternative names besides those two: `email`, `url`. */
  readonly otherNames: readonly string[];
  /** Object identifiers of the extensions other than alternative names. */
  readonly otherExtensions: readonly string[];
  /** SHA-256 of the public key, lower-case hexadecimal. */
  readonly key: string;
  /** Checks the key, which takes three times as long as to read all else. */
  readonly checkKey: () => KeyCheck;
}

/** What is known of the key of a request. */
interface KeyCheck {
  /** Whoever made the request has the key that it is for. */
  readonly isSigned: boolean;
  /** It is of RSA with 2048 bits at least, or of a curve that Go's kubelets take. */
  readonly isStrong: boolean;
}

const commonName = '2.5.4.3';
const organization = '2.5.4.10';
const alternativeNames = '2.5.29.17';
const extensionRequest = '1.2.840.113549.1.9.14';

/** Tags of DER. */
const tags = {
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  identifier: 0x06,
  utf8: 0x0c,
  printable: 0x13,
  sequence: 0x30,
  set: 0x31,
  attributes: 0xa0,
} as const;

/** One request and nothing around it, so that no two programs read different ones. */
const onePemBlock =
  /^\s*-----BEGIN CERTIFICATE REQUEST-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE REQUEST-----\s*$/;

/**
 * Reads a PKCS#10 request; undefined for what cannot be read, or could be read in two ways: whoever signs may read what
 * is passed over here. A parser for all there is in certificates takes eight megabytes, and ten times as long.
 */
export function readPkcs10(pem: string): CertificateRequest | undefined {
  const base64 = onePemBlock.exec(pem)?.[1]?.replaceAll(/\s/g, '');
  if (base64 === undefined) return undefined;
  const der = Buffer.from(base64, 'base64');
  if (der.toString('base64') !== base64) return undefined;
  try {
    return contentOf(der);
  } catch {
    return undefined;
  }
}

function contentOf(der: Buffer): CertificateRequest {
  const [request, ...more] = elementsIn(der);
  if (request?.tag !== tags.sequence || more.length > 0) throw new Error('no request');
  const { sequence } = tags;
  const [signed, identifier, signature] = membersOf(request, [sequence, sequence, tags.bits]);
  const [version, subject, key, attributes] = membersOf(signed, [
    ...([tags.integer, sequence, sequence, tags.attributes] as const),
  ]);
  if (!version.content.equals(versionOne)) throw new Error('another version');
  const algorithm = algorithmOf(identifier);
  const extensions = extensionsIn(attributes);
  const names = extensions.flatMap(({ type, value }) =>
    type === alternativeNames ? namesIn(value) : [],
  );
  const valuesOf = (kind: AlternativeName['kind']): readonly string[] =>
    names.flatMap((name) => (name.kind === kind ? [name.value] : []));
  return {
    ...subjectOf(subject),
    dnsNames: valuesOf('dns'),
    addresses: valuesOf('address'),
    otherNames: valuesOf('other'),
    otherExtensions: extensions.map(({ type }) => type).filter((type) => type !== alternativeNames),
    key: createHash('sha256').update(key.whole).digest('hex'),
    checkKey: () => {
      const publicKey = keyIn(key.whole);
      const isSigned = isSignedBy(publicKey, { signed, algorithm, signature });
      return { isSigned, isStrong: isStrong(publicKey) };
    },
  };
}

/** Version 1 is written as 0 (RFC 2986, 4.1). */
const versionOne = Buffer.of(0);

/** Of an AlgorithmIdentifier (RFC 5280, 4.1.1.2). Go takes one that is no DER behind its parameters. */
function algorithmOf({ members: [type] }: Element): string {
  if (type === undefined) throw new Error('no algorithm');
  return objectIdentifier(type);
}

type Subject = Pick<CertificateRequest, 'commonNames' | 'organizations' | 'otherSubject'>;

function subjectOf(name: Element): Subject {
  const attributes = membersEachOf(name, tags.set).flatMap((part) => {
    // X.501: a part of a name has one pair at least. Programs pass over one without any.
    if (part.content.length === 0) throw new Error('an empty part');
    return membersEachOf(part, tags.sequence);
  });
  const parts = attributes.map((attribute) => {
    const [type, value, ...more] = attribute.members;
    if (type === undefined || value === undefined || more.length > 0) throw new Error('no pair');
    return { type: objectIdentifier(type), value };
  });
  const textsOf = (wanted: string): readonly string[] =>
    parts.flatMap(({ type, value }) => (type === wanted ? [textOf(value)] : []));
  return {
    commonNames: textsOf(commonName),
    organizations: textsOf(organization),
    otherSubject: parts
      .map(({ type }) => type)
      .filter((type) => type !== commonName && type !== organization),
  };
}

/** Go writes names in one of these two types; of the older ones programs differ in what the bytes mean. */
function textOf({ tag, content }: Element): string {
  const text = content.toString('utf8');
  const isPrintable = tag === tags.printable && /^[A-Za-z0-9 '()+,\-./:=?]*$/.test(text);
  if (!isPrintable && !(tag === tags.utf8 && isUtf8(content))) throw new Error('no text');
  return text;
}

interface Extension {
  readonly type: string;
  readonly value: Buffer;
}

/**
 * Go refuses duplicate extensions; other programs take the first, or the last. Extensions can be asked for by other attributes
 * than that of the standard, and Go's kubelets send no other.
 */
function extensionsIn(attributes: Element): readonly Extension[] {
  const requests = membersEachOf(attributes, tags.sequence).map((attribute) => {
    const [type, values] = membersOf(attribute, [tags.identifier, tags.set]);
    if (objectIdentifier(type) !== extensionRequest) throw new Error('another attribute');
    return values;
  });
  const [values, ...others] = requests;
  if (values === undefined) return [];
  const [list] = membersOf(values, [tags.sequence]);
  const extensions = membersEachOf(list, tags.sequence).map((extension) => {
    const [type, ...rest] = extension.members;
    const value = rest.at(-1);
    const isWhole = rest.length === 1 || (rest.length === 2 && rest[0]?.whole.equals(critical));
    if (type === undefined || value?.tag !== tags.octets || !isWhole) throw new Error('no pair');
    return { type: objectIdentifier(type), value: value.content };
  });
  const isTwice = new Set(extensions.map(({ type }) => type)).size < extensions.length;
  if (others.length > 0 || isTwice) throw new Error('extensions that are there twice');
  return extensions;
}

/** The BOOLEAN `TRUE`; `FALSE`, the default, is left out. */
const critical = Buffer.of(0x01, 0x01, 0xff);

interface AlternativeName {
  readonly kind: 'dns' | 'address' | 'other';
  /** Of another kind its name. */
  readonly value: string;
}

/** Kinds of names that no kubelet asks for (RFC 5280, 4.2.1.6). */
const otherKinds: Readonly<Record<number, string>> = {
  0xa0: 'other',
  0x81: 'email',
  0xa4: 'directory',
  0x86: 'url',
  0x88: 'id',
};

function namesIn(value: Buffer): readonly AlternativeName[] {
  const [names, ...more] = elementsIn(value);
  if (names?.tag !== tags.sequence || names.content.length === 0 || more.length > 0)
    throw new Error('no names');
  return names.members.map(({ tag, content }) => {
    if (tag === 0x82 && isAscii(content)) return { kind: 'dns', value: content.toString('latin1') };
    if (tag === 0x87) return { kind: 'address', value: addressOf(content) };
    const other = otherKinds[tag];
    if (other === undefined) throw new Error('a name of no kind');
    return { kind: 'other', value: other };
  });
}

function addressOf(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.length !== 16) throw new Error('no address');
  const groups = bytes.toString('hex').match(/.{4}/g) ?? [];
  return canonicalAddress(groups.join(':')) ?? '';
}

/** How kubelets sign, by the identifiers of RFC 5758 and RFC 8017; others prove nothing here. */
const algorithms: Readonly<Record<string, readonly [kind: string, hash: string]>> = {
  '1.2.840.10045.4.3.2': ['ec', 'sha256'],
  '1.2.840.10045.4.3.3': ['ec', 'sha384'],
  '1.2.840.10045.4.3.4': ['ec', 'sha512'],
  '1.2.840.113549.1.1.11': ['rsa', 'sha256'],
  '1.2.840.113549.1.1.12': ['rsa', 'sha384'],
  '1.2.840.113549.1.1.13': ['rsa', 'sha512'],
};

const fewestBits = 2048;
const curves: readonly (string | undefined)[] = ['prime256v1', 'secp384r1', 'secp521r1'];

/** A SubjectPublicKeyInfo as a key; undefined where OpenSSL knows none of its kind, or would write it otherwise. */
function keyIn(spki: Buffer): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: spki, format: 'der', type: 'spki' });
    return key.export({ format: 'der', type: 'spki' }).equals(spki) ? key : undefined;
  } catch {
    return undefined;
  }
}

function isStrong(key: KeyObject | undefined): boolean {
  const { modulusLength = 0, namedCurve } = key?.asymmetricKeyDetails ?? {};
  return modulusLength >= fewestBits || curves.includes(namedCurve);
}

/** The three parts of a request (RFC 2986, 4.2). */
interface SignedPart {
  readonly signed: Element;
  readonly algorithm: string;
  readonly signature: Element;
}

/** Whether a request was signed by the key that it is for. */
function isSignedBy(
  key: KeyObject | undefined,
  { signed, algorithm, signature }: SignedPart,
): boolean {
  const [kind, hash] = algorithms[algorithm] ?? [];
  // The first byte of a string of bits says how many of its last byte do not count.
  const [unused] = signature.content;
  if (key === undefined || hash === undefined || unused !== 0) return false;
  if (key.asymmetricKeyType !== kind) return false;
  try {
    return verify(hash, signed.whole, { key, dsaEncoding: 'der' }, signature.content.subarray(1));
  } catch {
    return false;
  }
}

/** An element of DER (X.690): a tag, a length, and what lies in it. Ten thousand requests have a million of them. */
class Element {
  /** With its class and the bit of what holds elements: 0x30 is a SEQUENCE. */
  readonly tag: number;
  readonly #bytes: Buffer;
  readonly #from: number;
  readonly #start: number;
  readonly #end: number;

  constructor(bytes: Buffer, from: number, { start, end }: Bounds) {
    this.tag = bytes[from] ?? 0;
    this.#bytes = bytes;
    this.#from = from;
    this.#start = start;
    this.#end = end;
  }

  get content(): Buffer {
    return this.#bytes.subarray(this.#start, this.#end);
  }

  /** With tag and length. */
  get whole(): Buffer {
    return this.#bytes.subarray(this.#from, this.#end);
  }

  /**
   * What it holds, to its end.
   * @throws Error where that is no DER
   */
  get members(): readonly Element[] {
    return elementsBetween(this.#bytes, this.#start, this.#end);
  }
}

/** Where the content of an element is. */
interface Bounds {
  readonly start: number;
  readonly end: number;
}

/** What is in the bytes is no DER, or more or less than is looked for. */
class NotDer extends Error {}

/** From here on a length says how many bytes of length follow; a tag with all lower bits set is a longer one. */
const long = 0x80;
const longTag = 0x1f;
/** Nothing that is read here has a length of more bytes. */
const mostLengthBytes = 3;

/**
 * The elements that fill the bytes to their end. A length can be written in one way only.
 * @throws Error for anything else
 */
export const elementsIn = (bytes: Buffer): readonly Element[] =>
  elementsBetween(bytes, 0, bytes.length);

function elementsBetween(bytes: Buffer, from: number, end: number): readonly Element[] {
  const found: Element[] = [];
  for (let next = from; next < end;) {
    const bounds = boundsOf(bytes, next, end);
    found.push(new Element(bytes, next, bounds));
    next = bounds.end;
  }
  return found;
}

function boundsOf(bytes: Buffer, from: number, last: number): Bounds {
  if (from + 2 > last) throw new NotDer('it is cut off');
  if (((bytes[from] ?? 0) & longTag) === longTag) throw new NotDer('a tag of several bytes');
  const first = bytes[from + 1] ?? long;
  const count = first < long ? 0 : first - long;
  const start = from + 2 + count;
  if (first === long || count > mostLengthBytes || start > last) throw new NotDer('no length');
  const length = count === 0 ? first : longLength(bytes, from + 2, count);
  if (start + length > last) throw new NotDer('it is cut off');
  return { start, end: start + length };
}

function longLength(bytes: Buffer, at: number, count: number): number {
  const length = bytes.readUIntBE(at, count);
  const isShortest = length >= long && length >= 2 ** (8 * (count - 1));
  if (!isShortest) throw new NotDer('a length that could be shorter');
  return length;
}

/**
 * The elements of one that holds elements of this tag alone.
 * @throws Error for others
 */
function membersEachOf(element: Element, tag: number): readonly Element[] {
  const { members } = element;
  if (members.some((member) => member.tag !== tag)) throw new NotDer('other members');
  return members;
}

/**
 * The elements of one that must have these tags, each one once and in this order.
 * @throws Error for others
 */
export function membersOf<const T extends readonly number[]>(
  element: Element,
  tags: T,
): { readonly [K in keyof T]: Element } {
  const { members } = element;
  if (members.length !== tags.length || members.some(({ tag }, index) => tag !== tags[index])) {
    throw new NotDer('other members');
  }
  return members as unknown as { readonly [K in keyof T]: Element };
}

/**
 * An object identifier in its usual spelling: `2.5.4.3`.
 * @throws Error for what is none
 */
export function objectIdentifier({ tag, content }: Element): string {
  if (tag !== 0x06 || content.length === 0) throw new NotDer('no object identifier');
  const parts: number[] = [];
  let part = 0;
  let isInside = false;
  for (const byte of content) {
    // No part begins with a zero, and none that matters is longer than what a number holds.
    if ((!isInside && byte === long) || part > 2 ** 40) throw new NotDer('no object identifier');
    part = part * 128 + (byte & 0x7f);
    isInside = byte >= long;
    if (isInside) continue;
    parts.push(part);
    part = 0;
  }
  if (isInside) throw new NotDer('it is cut off');
  const [first = 0, ...others] = parts;
  const root = Math.min(2, Math.floor(first / 40));
  return [root, first - root * 40, ...others].join('.');
}
