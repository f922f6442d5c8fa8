import { canonicalAddress } from '../../lib/address.ts';

/** What the request of a kubelet holds. */
export interface KubeletRequest {
  /** The common name of its subject. */
  readonly user: string;
  readonly dnsNames: readonly string[];
  /** In canonical form. */
  readonly addresses: readonly string[];
}

/** One request and nothing around it, so that no two programs read different ones. */
const onePemBlock =
  /^\s*-----BEGIN CERTIFICATE REQUEST-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE REQUEST-----\s*$/;

/**
 * Reads a PKCS #10 request (RFC 2986) that has the parts of a kubelet's (client-go,
 * `MakeCSRFromTemplate`) and no other; undefined for anything else. So nothing is passed over that
 * the signer may read. Its key and its signature are opaque here: the API server has checked them
 * when it took the request.
 */
export function readPkcs10(pem: string): KubeletRequest | undefined {
  const base64 = onePemBlock.exec(pem)?.[1]?.replaceAll(/\s/g, '');
  if (base64 === undefined) return undefined;
  const der = Buffer.from(base64, 'base64');
  if (der.toString('base64') !== base64) return undefined;
  try {
    return contentOf(der);
  } catch (error) {
    if (error instanceof OtherShape) return undefined;
    throw error;
  }
}

/** Tags of DER (X.690). */
const [integer, bits, octets, identifier, sequence, set] = [0x02, 0x03, 0x04, 0x06, 0x30, 0x31];
const [utf8, printable, attributes, dnsName, ipAddress] = [0x0c, 0x13, 0xa0, 0x82, 0x87];

/** Contents of the object identifiers 2.5.4.3, 2.5.4.10, 1.2.840.113549.1.9.14 and 2.5.29.17. */
const commonName = Buffer.from('550403', 'hex');
const organization = Buffer.from('55040a', 'hex');
const extensionRequest = Buffer.from('2a864886f70d01090e', 'hex');
const alternativeNames = Buffer.from('551d11', 'hex');

function contentOf(der: Buffer): KubeletRequest {
  const [request] = partsOf(der, [sequence]);
  const [signed] = partsOf(request, [sequence, sequence, bits]);
  const [, subject, , asked] = partsOf(signed, [integer, sequence, sequence, attributes]);
  const [group, name] = partsOf(subject, [set, set]);
  if (textOf(group, organization) !== 'system:nodes') throw new OtherShape();
  const names = asked.length === 0 ? [] : namesIn(asked);
  const valuesOf = (wanted: number): readonly Buffer[] =>
    names.flatMap(({ tag, content }) => (tag === wanted ? [content] : []));
  return {
    user: textOf(name, commonName),
    dnsNames: valuesOf(dnsName).map((one) => one.toString('latin1')),
    addresses: valuesOf(ipAddress).map(addressOf),
  };
}

/** The text of one part of a subject, of letters that each encoding writes in the same way. */
function textOf(part: Buffer, wanted: Buffer): string {
  const [pair] = partsOf(part, [sequence]);
  const [type, value] = elementsIn(pair);
  const text = value?.content.toString('latin1') ?? '';
  const isText = value?.tag === utf8 || value?.tag === printable;
  if (!isText || !/^[a-z0-9:.-]+$/.test(text) || elementsIn(pair).length !== 2)
    throw new OtherShape();
  expectIdentifier(type, wanted);
  return text;
}

/** The alternative names, which are the one extension that a kubelet asks for. */
function namesIn(asked: Buffer): readonly Element[] {
  const [attribute] = partsOf(asked, [sequence]);
  const [type, values] = elementsIn(attribute);
  expectIdentifier(type, extensionRequest);
  partsOf(attribute, [identifier, set]);
  const [extensions] = partsOf(values?.content, [sequence]);
  const [extension] = partsOf(extensions, [sequence]);
  const [kind, value] = elementsIn(extension);
  expectIdentifier(kind, alternativeNames);
  partsOf(extension, [identifier, octets]);
  const [list] = partsOf(value?.content, [sequence]);
  const names = elementsIn(list);
  const areKnown = names.every(({ tag }) => tag === dnsName || tag === ipAddress);
  if (names.length === 0 || !areKnown) throw new OtherShape();
  return names;
}

function addressOf(bytes: Buffer): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups = bytes.toString('hex').match(/.{4}/g) ?? [];
  const address = bytes.length === 16 ? canonicalAddress(groups.join(':')) : undefined;
  if (address === undefined) throw new OtherShape();
  return address;
}

/** What was read is no DER, or has other parts than a kubelet's request. */
class OtherShape extends Error {}

interface Element {
  readonly tag: number;
  readonly content: Buffer;
}

function expectIdentifier(element: Element | undefined, wanted: Buffer): void {
  if (element?.tag !== identifier || !element.content.equals(wanted)) throw new OtherShape();
}

/**
 * The contents of the elements that the bytes hold, which have these tags, each once and in this
 * order.
 */
function partsOf<const T extends readonly number[]>(
  bytes: Buffer | undefined,
  tags: T,
): { readonly [K in keyof T]: Buffer } {
  const found = bytes === undefined ? [] : elementsIn(bytes);
  if (found.length !== tags.length || found.some(({ tag }, index) => tag !== tags[index]))
    throw new OtherShape();
  return found.map(({ content }) => content) as { readonly [K in keyof T]: Buffer };
}

/** From here on the first byte of a length says how many bytes of length follow. */
const longForm = 0x80;

/** The elements that fill the bytes to their end; a length can be written in one way only. */
function elementsIn(bytes: Buffer): readonly Element[] {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length;) {
    const [tag = 0, first = longForm] = bytes.subarray(at, at + 2);
    const count = first < longForm ? 0 : first - longForm;
    const start = at + 2 + count;
    // A tag with all lower bits set is a longer one. No request has a length of more than two
    // bytes.
    const isLong = (tag & 0x1f) === 0x1f || first === longForm || count > 2;
    if (isLong || start > bytes.length) throw new OtherShape();
    const length = count === 0 ? first : bytes.readUIntBE(at + 2, count);
    const isShortest = count === 0 || length >= (count === 1 ? longForm : 0x1_00);
    if (!isShortest || start + length > bytes.length) throw new OtherShape();
    found.push({ tag, content: bytes.subarray(start, start + length) });
    at = start + length;
  }
  return found;
}
