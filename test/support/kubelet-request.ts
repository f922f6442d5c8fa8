import 'reflect-metadata';
import type { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
import {
  type Extension,
  type JsonGeneralName,
  Pkcs10CertificateRequestGenerator,
  SubjectAlternativeNameExtension,
} from '@peculiar/x509';
import { nodeBootstrapper } from '../../src/cluster/csr/read-request.ts';
import { kubeletSigners, type RequestPurpose } from '../../src/cluster/csr/read-request.ts';
import type { KubeObject } from '../../src/ports/kube.ts';

// The import above must be loaded before this library.
export {
  ExtendedKeyUsageExtension,
  Extension,
  SubjectAlternativeNameExtension,
} from '@peculiar/x509';

/** Kinds of keys that a kubelet or another client could have. */
export const keyKinds = {
  'EC P-256': { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' },
  'EC P-384': { name: 'ECDSA', namedCurve: 'P-384', hash: 'SHA-384' },
  'RSA 2048': {
    name: 'RSASSA-PKCS1-v1_5',
    modulusLength: 2048,
    publicExponent: new Uint8Array([1, 0, 1]),
    hash: 'SHA-256',
  },
  'RSA 1024': {
    name: 'RSASSA-PKCS1-v1_5',
    modulusLength: 1024,
    publicExponent: new Uint8Array([1, 0, 1]),
    hash: 'SHA-256',
  },
} as const;

/** A key pair. */
type KeyPair = webcrypto.CryptoKeyPair;

/** A key pair of a kind. */
export const keyPair = (kind: keyof typeof keyKinds = 'EC P-256'): Promise<KeyPair> =>
  crypto.subtle.generateKey(keyKinds[kind], true, ['sign', 'verify']);

/** Fields of a PKCS#10 request. */
export interface RequestWishes {
  readonly subject?: string;
  readonly names?: readonly JsonGeneralName[];
  readonly extensions?: readonly Extension[];
  readonly key?: keyof typeof keyKinds;
  readonly keys?: KeyPair;
  /** Default: the hash of the kind of key. */
  readonly hash?: string;
}

/**
 * Makes a PKCS#10 request as PEM; default: the request of node m0's kubelet for a client
 * certificate.
 */
export async function pkcs10(wishes: RequestWishes = {}): Promise<string> {
  const { subject = 'O=system:nodes, CN=system:node:m0', names = [], key = 'EC P-256' } = wishes;
  const alternative = names.length === 0 ? [] : [new SubjectAlternativeNameExtension([...names])];
  const request = await Pkcs10CertificateRequestGenerator.create({
    name: subject,
    keys: wishes.keys ?? (await keyPair(key)),
    signingAlgorithm: { ...keyKinds[key], hash: wishes.hash ?? keyKinds[key].hash },
    extensions: [...alternative, ...(wishes.extensions ?? [])],
  });
  return `${request.toString('pem')}\n`;
}

/** Alternative names: IP addresses as such, and all others as host names. */
export const alternativeNames = (...values: readonly string[]): readonly JsonGeneralName[] =>
  values.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }));

const usages = {
  client: ['digital signature', 'client auth'],
  serving: ['digital signature', 'server auth'],
} as const;

/** Differences of a CertificateSigningRequest from the default. */
interface SigningWishes {
  readonly name?: string;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
}

/** A CertificateSigningRequest as an object of the API server; of node m0 unless `spec` differs. */
export function signingRequestObject(
  purpose: RequestPurpose,
  pem: string,
  { name = `csr-${purpose}`, spec = {}, status }: SigningWishes = {},
): KubeObject {
  const who =
    purpose === 'client'
      ? { ...nodeBootstrapper, groups: [...nodeBootstrapper.groups, 'system:authenticated'] }
      : { username: 'system:node:m0', groups: ['system:nodes', 'system:authenticated'] };
  return {
    apiVersion: 'certificates.k8s.io/v1',
    kind: 'CertificateSigningRequest',
    metadata: { name, uid: `uid-of-${name}` },
    spec: {
      signerName: kubeletSigners[purpose],
      usages: usages[purpose],
      request: Buffer.from(pem).toString('base64'),
      ...who,
      ...spec,
    },
    ...(status === undefined ? {} : { status }),
  };
}
