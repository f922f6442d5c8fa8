import { createSign, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { yamlIn } from '../../lib/yaml-text.ts';
import type { KubeObject } from '../../ports/kube.ts';

/** Who has the kubeconfig of a Cluster, and the group that may do everything there. */
export const clusterUser = {
  name: 'bootwright-control-plane',
  group: 'bootwright:cluster-administrators',
} as const;

/** Signs certificates of clients (Kubernetes, "Kubernetes signers"). */
const signerName = 'kubernetes.io/kube-apiserver-client';

/** In seconds; it is renewed at half of it. */
export const certificateLifetime = 24 * 60 * 60;

/** A key with the request for its certificate. */
export interface RequestedCertificate {
  readonly key: string;
  readonly request: KubeObject;
}

/** A key, and the request for a certificate of it, of that name in the cluster. */
export function requestCertificate(name: string): RequestedCertificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = pemOf('CERTIFICATE REQUEST', signedRequest(privateKey, publicKey));
  return {
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
    request: {
      ...{ apiVersion: 'certificates.k8s.io/v1', kind: 'CertificateSigningRequest' },
      metadata: { name },
      spec: {
        ...{ signerName, request: Buffer.from(pem).toString('base64') },
        ...{ expirationSeconds: certificateLifetime, usages: ['digital signature', 'client auth'] },
      },
    },
  };
}

const pemOf = (label: string, der: Buffer): string =>
  `-----BEGIN ${label}-----\n${der.toString('base64').replaceAll(/.{64}(?=.)/g, '$&\n')}\n-----END ${label}-----\n`;

/** Tags of what a request is made of (ITU-T X.690). */
const tags = { integer: 0x02, bits: 0x03, oid: 0x06, text: 0x0c, list: 0x30, set: 0x31, own: 0xa0 };

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const sizes =
    length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...sizes]), content]);
}

/** The last part of `2.5.4.x`, an attribute of a name. */
const attribute = (type: number, text: string): Buffer =>
  der(
    tags.set,
    der(
      tags.list,
      der(tags.oid, Buffer.from([0x55, 0x04, type])),
      der(tags.text, Buffer.from(text)),
    ),
  );

const [organization, commonName] = [0x0a, 0x03];
/** 1.2.840.10045.4.3.2. */
const ecdsaWithSha256 = Buffer.from([0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02]);

/** A request as PKCS #10 has it (RFC 2986). */
function signedRequest(privateKey: KeyObject, publicKey: KeyObject): Buffer {
  const subject = der(
    tags.list,
    attribute(organization, clusterUser.group),
    attribute(commonName, clusterUser.name),
  );
  const info = der(
    tags.list,
    ...[der(tags.integer, Buffer.from([0])), subject],
    ...[publicKey.export({ type: 'spki', format: 'der' }), der(tags.own)],
  );
  const signature = createSign('sha256').update(info).sign(privateKey);
  const algorithm = der(tags.list, der(tags.oid, ecdsaWithSha256));
  return der(tags.list, info, algorithm, der(tags.bits, Buffer.from([0]), signature));
}

/** Lets that group do everything. */
export const administratorsBinding: KubeObject = {
  ...{ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRoleBinding' },
  metadata: { name: 'bootwright-cluster-administrators' },
  roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'cluster-admin' },
  subjects: [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: clusterUser.group }],
};

/** The kubeconfig of an installer with another user, of which nothing else is kept. */
export function kubeconfigFor(
  installers: string,
  { key, certificate }: { readonly key: string; readonly certificate: string },
): string | undefined {
  const {
    clusters,
    contexts,
    'current-context': current,
  } = Object(yamlIn(installers)) as {
    readonly clusters?: readonly { readonly name: string }[];
    readonly contexts?: readonly {
      readonly name: string;
      readonly context: { readonly cluster: string };
    }[];
    readonly 'current-context'?: string;
  };
  const context = contexts?.find(({ name }) => name === current)?.context;
  const cluster = clusters?.find(({ name }) => name === context?.cluster);
  if (cluster === undefined) return undefined;
  const { name } = clusterUser;
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const user = {
    'client-certificate-data': base64(certificate),
    'client-key-data': base64(key),
  };
  const named = { name, context: { cluster: cluster.name, user: name } };
  return JSON.stringify({
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': name },
    ...{ clusters: [cluster], contexts: [named], users: [{ name, user }] },
  });
}

/** When a certificate is to be renewed: at half of its life; at once where it cannot be read. */
export function renewAt(certificate: string): number {
  try {
    const { validFromDate, validToDate } = new X509Certificate(certificate);
    return (validFromDate.getTime() + validToDate.getTime()) / 2;
  } catch {
    return 0;
  }
}
