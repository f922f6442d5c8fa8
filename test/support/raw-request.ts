import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';

// PKCS#10 requests (RFC 2986) byte by byte, for forms that no library makes.

/** An element of DER. */
export function der(tag: number, ...content: readonly (Buffer | string)[]): Buffer {
  const inside = Buffer.concat(content.map((part) => Buffer.from(part as string)));
  const { length } = inside;
  const long =
    length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...long]), inside]);
}

/** Tags of X.690. */
export const tags = {
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  null: 0x05,
  oid: 0x06,
  utf8: 0x0c,
  printable: 0x13,
  teletex: 0x14,
  universal: 0x1c,
  bmp: 0x1e,
  sequence: 0x30,
  set: 0x31,
} as const;

const { sequence, set } = tags;

/** An object identifier from its content in hexadecimal. */
const oid = (hex: string): Buffer => der(tags.oid, Buffer.from(hex, 'hex'));

const oids = {
  commonName: '550403',
  organization: '55040a',
  extensionRequest: '2a864886f70d01090e',
  challengePassword: '2a864886f70d010907',
  microsoftExtensions: '2b06010401823702010e',
  alternativeNames: '551d11',
  ecdsaSha256: '2a8648ce3d040302',
  rsaSha256: '2a864886f70d01010b',
  ed25519: '2b6570',
} as const;

/** One attribute of a subject. */
export const attribute = (
  type: 'commonName' | 'organization',
  value: Buffer | string,
  tag: number = tags.utf8,
): Buffer => der(sequence, oid(oids[type]), der(tag, value));

/** Alternative names as an extension, each with its context tag: `[2, 'w0']` for a host name. */
export const namesExtension = (...names: readonly (readonly [number, Buffer | string])[]): Buffer =>
  der(
    sequence,
    oid(oids.alternativeNames),
    der(tags.octets, der(sequence, ...names.map(([tag, value]) => der(0x80 | tag, value)))),
  );

/** An attribute that requests extensions, with the standard type or Microsoft's. */
export const asksFor = (
  extensions: readonly Buffer[],
  type: 'extensionRequest' | 'microsoftExtensions' = 'extensionRequest',
): Buffer => der(sequence, oid(oids[type]), der(set, der(sequence, ...extensions)));

/** The type of a request's attribute. */
export const requestOf = (type: 'extensionRequest' | 'challengePassword'): Buffer =>
  oid(oids[type]);

/** Keys that a kubelet does not make. */
export const oddKeys = {
  'EC P-224': () => generateKeyPairSync('ec', { namedCurve: 'secp224r1' }).privateKey,
  'EC secp256k1': () => generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).privateKey,
  Ed25519: () => generateKeyPairSync('ed25519').privateKey,
  'RSA 1536': () => generateKeyPairSync('rsa', { modulusLength: 1536 }).privateKey,
} as const;

/** The key of a valid request. */
export const usualKey = (): KeyObject =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;

/** The parts of a request; default of each: as a kubelet with this subject makes it. */
export interface RawRequest {
  readonly subject: readonly Buffer[];
  readonly attributes?: readonly Buffer[];
  readonly key?: KeyObject;
  /** The public key in another encoding. */
  readonly spki?: (usual: Buffer) => Buffer;
  /** Bytes after the attributes, inside the signed part. */
  readonly more?: Buffer;
  /** Bytes after the algorithm of the signature. */
  readonly parameters?: Buffer;
  /** Bytes after the signature, inside the request. */
  readonly behind?: Buffer;
}

/** A request as DER. */
export function rawRequest({
  subject,
  attributes = [],
  key = usualKey(),
  spki = (usual) => usual,
  more,
  parameters = Buffer.alloc(0),
  behind,
}: RawRequest): Buffer {
  const publicKey = createPublicKey(key).export({ format: 'der', type: 'spki' });
  const info = der(
    sequence,
    der(tags.integer, Buffer.from([0])),
    der(sequence, ...subject),
    spki(publicKey),
    der(0xa0, ...attributes),
    ...(more === undefined ? [] : [more]),
  );
  // Keys of other kinds choose the hash themselves.
  const isEd = key.asymmetricKeyType !== 'rsa' && key.asymmetricKeyType !== 'ec';
  const algorithm = isEd
    ? [oid(oids.ed25519)]
    : key.asymmetricKeyType === 'rsa'
      ? [oid(oids.rsaSha256), der(tags.null)]
      : [oid(oids.ecdsaSha256)];
  const signature = sign(isEd ? null : 'sha256', info, key);
  const parts = [
    info,
    der(sequence, ...algorithm, parameters),
    der(tags.bits, Buffer.from([0]), signature),
  ];
  return der(sequence, ...parts, ...(behind === undefined ? [] : [behind]));
}

/** A request as PEM. */
export const pemOf = (request: Buffer): string =>
  `-----BEGIN CERTIFICATE REQUEST-----\n${request.toString('base64').replaceAll(/.{64}(?=.)/g, '$&\n')}\n-----END CERTIFICATE REQUEST-----\n`;
