import { canonicalAddress } from '../../lib/address.ts';

/** Exactly one PEM block, so that all programs read the same request. */
const onePemBlock =
  /^\s*-----BEGIN CERTIFICATE REQUEST-----([A-Za-z0-9+/=\s]+)-----END CERTIFICATE REQUEST-----\s*$/;

/** Tags of DER (X.690). */
const [integer, bits, octets, identifier, sequence, set] = [0x02, 0x03, 0x04, 0x06, 0x30, 0x31];
const [utf8, printable, attributes, dnsName, ipAddress] = [0x0c, 0x13, 0xa0, 0x82, 0x87];

/** From here on the first byte of a length is the number of length bytes that follow. */
const longForm = 0x80;

const oid = (hex: string): Buffer => der(identifier, Buffer.from(hex, 'hex'));
/** 2.5.4.3, 2.5.4.10, 1.2.840.113549.1.9.14 and 2.5.29.17. */
const [commonName, organization, extensionRequest, alternativeNames] = [
  oid('550403'),
  oid('55040a'),
  oid('2a864886f70d01090e'),
  oid('551d11'),
];

/**
 * Reads a PKCS #10 request (RFC 2986) of a kubelet (client-go, `MakeCSRFromTemplate`); undefined
 * for anything else. The result is encoded again and compared byte by byte, so no part that the
 * signer may read is skipped. The contents of its key and signature are opaque here: the API server
 * checked them when it accepted the request.
 * @returns the common name of its subject, and its names and canonical addresses
 */
export function readPkcs10(pem: string) {
  const base64 = onePemBlock.exec(pem)?.[1]?.replaceAll(/\s/g, '') ?? '';
  const bytes = Buffer.from(base64, 'base64');
  const [request] = elementsIn(bytes);
  const group = partOf(request, 0, 1, 0, 0, 1);
  const name = partOf(request, 0, 1, 1, 0, 1);
  const names = partsIn(partOf(request, 0, 3, 0, 1, 0, 0, 1, 0)).filter(
    ({ tag }) => tag === dnsName || tag === ipAddress,
  );
  const signed = der(
    sequence,
    der(integer, Buffer.from([0])),
    der(
      sequence,
      subjectPart(organization, group?.tag, Buffer.from('system:nodes')),
      subjectPart(commonName, name?.tag, contentOf(name)),
    ),
    der(sequence, contentOf(partOf(request, 0, 2))),
    der(attributes, ...(names.length === 0 ? [] : [namesAttribute(names)])),
  );
  const algorithm = der(sequence, contentOf(partOf(request, 1)));
  const written = der(sequence, signed, algorithm, der(bits, contentOf(partOf(request, 2))));
  const addresses = names.filter(({ tag }) => tag === ipAddress).map(addressOf);
  const isSame = written.equals(bytes) && bytes.toString('base64') === base64;
  if (!isSame || addresses.includes(undefined)) return undefined;
  return {
    user: contentOf(name).toString('latin1'),
    dnsNames: names
      .filter(({ tag }) => tag === dnsName)
      .map(({ content }) => content.toString('latin1')),
    addresses: addresses.filter((address) => address !== undefined),
  };
}

/** A part of a subject, in the encodings that write these letters the same way. */
const subjectPart = (type: Buffer, tag: number | undefined, text: Buffer): Buffer =>
  der(set, der(sequence, type, der(tag === utf8 ? utf8 : printable, text)));

/** Alternative names are the only extension that a kubelet requests. */
function namesAttribute(names: readonly Element[]): Buffer {
  const list = der(sequence, ...names.map(({ tag, content }) => der(tag, content)));
  const extension = der(sequence, alternativeNames, der(octets, list));
  return der(sequence, extensionRequest, der(set, der(sequence, extension)));
}

function addressOf({ content }: Element): string | undefined {
  if (content.length === 4) return content.join('.');
  const groups = content.toString('hex').match(/.{4}/g) ?? [];
  return content.length === 16 ? canonicalAddress(groups.join(':')) : undefined;
}

interface Element {
  readonly tag: number;
  readonly content: Buffer;
}

const contentOf = (element: Element | undefined): Buffer => element?.content ?? Buffer.alloc(0);

const partsIn = (element: Element | undefined): readonly Element[] =>
  elementsIn(contentOf(element));

/** The element at a path in the tree. */
const partOf = (element: Element | undefined, ...places: readonly number[]): Element | undefined =>
  places.reduce((inside, place) => partsIn(inside)[place], element);

/** The elements in the bytes. Bytes that are not DER give elements whose encoding differs. */
function elementsIn(bytes: Buffer): readonly Element[] {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length;) {
    const [tag = 0, first = 0] = bytes.subarray(at, at + 2);
    const start = at + 2 + Math.max(0, first - longForm);
    const length =
      first < longForm ? first : Number.parseInt(bytes.toString('hex', at + 2, start), 16);
    found.push({ tag, content: bytes.subarray(start, start + length) });
    // A missing length ends the loop.
    at = start + length;
  }
  return found;
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const bytes = length < 0x1_00 ? [length] : [length >> 8, length & 0xff];
  const head = length < longForm ? [length] : [longForm + bytes.length, ...bytes];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
}
