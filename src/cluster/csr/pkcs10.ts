import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto';
import type * as X509 from '@peculiar/x509';

/** The content of a PKCS#10 request (RFC 2986), as far as a kubelet uses it. */
export interface CertificateRequest {
  readonly commonNames: readonly string[];
  readonly organizations: readonly string[];
  /** Attributes of the subject besides those two. */
  readonly otherSubject: readonly string[];
  readonly dnsNames: readonly string[];
  readonly addresses: readonly string[];
  /** Kinds of alternative names besides those two: `email`, `url`. */
  readonly otherNames: readonly string[];
  /** Object identifiers of the extensions other than alternative names. */
  readonly otherExtensions: readonly string[];
  /** Whoever made the request has the key that it is for. */
  readonly isSigned: boolean;
  /** Its key is of RSA with 2048 bits at least, or of a curve that Go's kubelets take. */
  readonly isStrong: boolean;
  /** SHA-256 of the public key, lower-case hexadecimal. */
  readonly key: string;
}

const alternativeNames = '2.5.29.17';
const extensionRequest = '1.2.840.113549.1.9.14';

/** One request and nothing around it, so that no two programs read different ones. */
const onePemBlock =
  /^\s*-----BEGIN CERTIFICATE REQUEST-----[A-Za-z0-9+/=\s]+-----END CERTIFICATE REQUEST-----\s*$/;

/**
 * Reads a PKCS#10 request; undefined for what cannot be read, or could be read in two ways. Loads
 * its parser (45 ms, 13 MB) when it is first called.
 */
export async function readPkcs10(pem: string): Promise<CertificateRequest | undefined> {
  if (!onePemBlock.test(pem)) return undefined;
  const library = await loadLibrary();
  try {
    const request = new library.Pkcs10CertificateRequest(pem);
    return isPlain(request, pem, library) ? contentOf(request, library) : undefined;
  } catch {
    return undefined;
  }
}

async function loadLibrary(): Promise<typeof X509> {
  // The parser needs it while it is being loaded.
  await import('reflect-metadata');
  return import('@peculiar/x509');
}

/**
 * Go refuses duplicate extensions; other programs take the first, or the last. Nothing may stand in the request, behind it or
 * among its names that the parser has passed over: whoever signs may read it. Extensions can be asked for by other attributes
 * than that of the standard, and Go's kubelets send no other.
 */
function isPlain(
  request: X509.Pkcs10CertificateRequest,
  pem: string,
  { SubjectAlternativeNameExtension }: typeof X509,
): boolean {
  const der = Buffer.from(pem.replaceAll(/-----[A-Z ]+-----/g, ''), 'base64');
  const extension = request.getExtension(alternativeNames);
  return (
    hasShape(der) &&
    request.attributes.length <= 1 &&
    request.attributes.every(
      ({ type, values }) => type === extensionRequest && values.length === 1,
    ) &&
    request.getExtensions(alternativeNames).length <= 1 &&
    (extension === null ||
      (extension instanceof SubjectAlternativeNameExtension &&
        extension.names.items.length > 0 &&
        isReadToTheEnd(extension, SubjectAlternativeNameExtension)))
  );
}

/** What is signed, the algorithm and the signature; of the first the version, subject, key and attributes (RFC 2986, 4). */
const parts = { request: 3, info: 4 } as const;

/** Whether a request has the parts that it must have, and no other, each length in its one spelling. */
function hasShape(der: Uint8Array): boolean {
  const request = elementsOf(der);
  const info = elementsOf(request[0] ?? der);
  return (
    contentStart(der) + contentLength(der) === der.length &&
    request.length === parts.request &&
    info.length === parts.info &&
    [der, ...request, ...info].every(isMinimal)
  );
}

const isReadToTheEnd = (
  extension: X509.SubjectAlternativeNameExtension,
  Extension: typeof X509.SubjectAlternativeNameExtension,
): boolean =>
  Buffer.from(extension.value).equals(
    Buffer.from(new Extension(extension.names.toJSON(), extension.critical).value),
  );

/** The library's own type of it needs the types of a browser. */
interface SignatureAlgorithm {
  readonly name: string;
  readonly hash: { readonly name: string };
}

function contentOf(
  request: X509.Pkcs10CertificateRequest,
  library: typeof X509,
): CertificateRequest {
  const subject = request.subjectName.toJSON().flatMap((part) => Object.entries(part));
  const valuesOf = (name: string): readonly string[] =>
    subject.flatMap(([type, values]) => (type === name ? values : []));
  const names = alternativeNamesOf(request, library);
  const algorithm = request.signatureAlgorithm as unknown as SignatureAlgorithm;
  const publicKey = new Uint8Array(request.publicKey.rawData);
  const namesOf = (type: string): readonly string[] =>
    names.flatMap((name) => (name.type === type ? [name.value] : []));
  return {
    commonNames: valuesOf('CN'),
    organizations: valuesOf('O'),
    otherSubject: subject.map(([type]) => type).filter((type) => type !== 'CN' && type !== 'O'),
    dnsNames: namesOf('dns'),
    addresses: namesOf('ip'),
    otherNames: names.map(({ type }) => type).filter((type) => type !== 'dns' && type !== 'ip'),
    otherExtensions: Array.from(request.extensions, ({ type }) => type).filter(
      (type) => type !== alternativeNames,
    ),
    isSigned: isSignedByItsKey({
      der: new Uint8Array(request.rawData),
      algorithm: algorithm.name,
      hash: algorithm.hash.name,
      signature: new Uint8Array(request.signature),
      publicKey,
    }),
    isStrong: isStrong(publicKey),
    key: createHash('sha256').update(publicKey).digest('hex'),
  };
}

function alternativeNamesOf(
  request: X509.Pkcs10CertificateRequest,
  { SubjectAlternativeNameExtension }: typeof X509,
): readonly X509.JsonGeneralName[] {
  const extension = request.getExtension(alternativeNames);
  return extension instanceof SubjectAlternativeNameExtension ? extension.names.toJSON() : [];
}

/** How a request is signed, in the words of the Web Cryptography API. */
interface SignedPart {
  /** The whole request, DER: what is signed, the algorithm, the signature (RFC 2986, 4.2). */
  readonly der: Uint8Array;
  /** `ECDSA`, `RSASSA-PKCS1-v1_5`. */
  readonly algorithm: string;
  /** `SHA-256`. */
  readonly hash: string;
  readonly signature: Uint8Array;
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKey: Uint8Array;
}

/** Algorithms of the keys that a kubelet makes; others prove nothing here. */
const algorithms: Readonly<Record<string, string>> = {
  ECDSA: 'ec',
  'RSASSA-PKCS1-v1_5': 'rsa',
};

const hashes: Readonly<Record<string, string>> = {
  'SHA-256': 'sha256',
  'SHA-384': 'sha384',
  'SHA-512': 'sha512',
};

const fewestBits = 2048;
const curves: readonly (string | undefined)[] = ['prime256v1', 'secp384r1', 'secp521r1'];

function isStrong(publicKey: Uint8Array): boolean {
  try {
    const { asymmetricKeyDetails: { modulusLength = 0, namedCurve } = {} } = publicKeyOf(publicKey);
    return modulusLength >= fewestBits || curves.includes(namedCurve);
  } catch {
    return false;
  }
}

const publicKeyOf = (spki: Uint8Array): KeyObject =>
  createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' });

/** Whether a request was signed by the key that it is for. */
function isSignedByItsKey({ der, publicKey, ...signed }: SignedPart): boolean {
  const hash = hashes[signed.hash];
  const kind = algorithms[signed.algorithm];
  if (hash === undefined || kind === undefined) return false;
  try {
    const key = publicKeyOf(publicKey);
    return (
      key.asymmetricKeyType === kind &&
      verify(hash, elementsOf(der)[0] ?? der, { key, dsaEncoding: 'der' }, signed.signature)
    );
  } catch {
    return false;
  }
}

/** The elements inside a DER sequence, each with its header. */
function elementsOf(sequence: Uint8Array): readonly Uint8Array[] {
  const found: Uint8Array[] = [];
  let rest = sequence.subarray(contentStart(sequence));
  while (rest.length > 0) {
    const length = contentStart(rest) + contentLength(rest);
    found.push(rest.subarray(0, length));
    rest = rest.subarray(length);
  }
  return found;
}

const shortest = 0x80;

/** Bytes of tag and length: one and one, or one and one that says how many follow (X.690, 8.1.3). */
function contentStart(element: Uint8Array): number {
  const length = element[1] ?? 0;
  return length < shortest ? 2 : 2 + (length - shortest);
}

function contentLength(element: Uint8Array): number {
  const length = element[1] ?? 0;
  if (length < shortest) return length;
  return element.subarray(2, contentStart(element)).reduce((sum, byte) => sum * 256 + byte, 0);
}

/** Whether a length is written as DER has it (X.690, 10.1): in as few bytes as it needs, and never left open. */
function isMinimal(element: Uint8Array): boolean {
  const [, form = 0, first = 0] = element;
  return form < shortest || (first !== 0 && form > shortest && contentLength(element) >= shortest);
}
