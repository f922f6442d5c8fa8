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

// The library can be loaded only after what stands first here.
export {
  ExtendedKeyUsageExtension,
  Extension,
  SubjectAlternativeNameExtension,
} from '@peculiar/x509';

/** Keys that a kubelet, or somebody else, could have. */
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

/** A private key with its public one. */
type KeyPair = webcrypto.CryptoKeyPair;

/** A key pair of a kind. */
export const keyPair = (kind: keyof typeof keyKinds = 'EC P-256'): Promise<KeyPair> =>
  crypto.subtle.generateKey(keyKinds[kind], true, ['sign', 'verify']);

/** What a PKCS#10 request is to hold. */
export interface RequestWishes {
  readonly subject?: string;
  readonly names?: readonly JsonGeneralName[];
  readonly extensions?: readonly Extension[];
  readonly key?: keyof typeof keyKinds;
  readonly keys?: KeyPair;
  /** That of the kind of key unless told. */
  readonly hash?: string;
}

/**
 * Makes a PKCS#10 request as PEM; as a kubelet of node m0 asks for a client certificate unless
 * told.
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

/** Alternative names: those that are addresses, and names of hosts. */
export const alternativeNames = (...values: readonly string[]): readonly JsonGeneralName[] =>
  values.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value }));

const usages = {
  client: ['digital signature', 'client auth'],
  serving: ['digital signature', 'server auth'],
} as const;

/** What is unusual about a CertificateSigningRequest. */
interface SigningWishes {
  readonly name?: string;
  readonly spec?: Readonly<Record<string, unknown>>;
  readonly status?: Readonly<Record<string, unknown>>;
}

/** A CertificateSigningRequest as the API server keeps it; of node m0 unless its `spec` tells. */
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
