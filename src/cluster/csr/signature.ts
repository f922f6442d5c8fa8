import { createPublicKey, verify } from 'node:crypto';

/** How a request is signed, in the words of the Web Cryptography API. */
export interface SignedPart {
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

/** Whether a request was signed by the key that it is for. */
export function isSignedByItsKey({ der, publicKey, ...signed }: SignedPart): boolean {
  const hash = hashes[signed.hash];
  const kind = algorithms[signed.algorithm];
  if (hash === undefined || kind === undefined) return false;
  try {
    const key = createPublicKey({ key: Buffer.from(publicKey), format: 'der', type: 'spki' });
    return (
      key.asymmetricKeyType === kind &&
      verify(hash, firstElement(der), { key, dsaEncoding: 'der' }, signed.signature)
    );
  } catch {
    return false;
  }
}

/** The first element inside a DER sequence, with its header. */
function firstElement(sequence: Uint8Array): Uint8Array {
  const inside = sequence.subarray(contentStart(sequence));
  return inside.subarray(0, contentStart(inside) + contentLength(inside));
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
