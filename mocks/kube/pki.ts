// Must be loaded before any other part of @peculiar/x509.
import 'reflect-metadata';
import { randomBytes, webcrypto } from 'node:crypto';
import {
  BasicConstraintsExtension,
  ExtendedKeyUsage,
  ExtendedKeyUsageExtension,
  type Extension,
  KeyUsageFlags,
  KeyUsagesExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  type X509Certificate,
  X509CertificateGenerator,
} from '@peculiar/x509';
import { stringify } from 'yaml';

/** A private key with its certificate, as PEM. */
export interface PemPair {
  readonly certificate: string;
  readonly key: string;
}

/**
 * The user of a client certificate: the API server takes the name and the groups from its subject.
 */
export interface KubeUser {
  readonly name: string;
  readonly groups?: readonly string[];
}

/** The certificate authority of one control plane, with the certificates of its servers. */
export interface Pki {
  readonly ca: PemPair;
  /** Signs the certificates of administrators (openshift/installer, `admin-kubeconfig-signer`). */
  readonly adminCa: PemPair;
  /** For all servers: the names of loopback, and the guests' name for it. */
  readonly serving: PemPair;
  /** The key pair for tokens of service accounts; one for all servers. */
  readonly tokens: { readonly privateKey: string; readonly publicKey: string };
  /** Issues a client certificate. */
  readonly issueFor: (user: KubeUser) => Promise<PemPair>;
  /** Issues a client certificate by the administrators' authority. */
  readonly issueForAdmin: (user: KubeUser) => Promise<PemPair>;
}

/** RBAC allows this group everything. */
export const administrators = 'system:masters';

const { subtle } = webcrypto;
const ecdsa = { name: 'ECDSA', namedCurve: 'P-256' };
const signingAlgorithm = { name: 'ECDSA', hash: 'SHA-256' };
const HOUR = 3_600_000;
const servedAddresses = ['127.0.0.1', '10.0.2.2', '10.0.0.1'];
const servedNames = [
  'localhost',
  'kubernetes',
  'kubernetes.default.svc',
  'api.lab.test',
  'api-int.lab.test',
];

/** Makes a certificate authority that is valid for a month, from an hour ago. */
export async function createPki(): Promise<Pki> {
  const authority = await createAuthority('kube-lab-ca');
  const admins = await createAuthority('admin-kubeconfig-signer');
  const tokens = await createKeys();
  return {
    ca: await pairOf(authority),
    adminCa: await pairOf(admins),
    serving: await issue(authority, [{ CN: ['kube-apiserver'] }], servingExtensions()),
    tokens: {
      privateKey: await pemOf(tokens.privateKey),
      publicKey: PemConverter.encode(
        await subtle.exportKey('spki', tokens.publicKey),
        'PUBLIC KEY',
      ),
    },
    issueFor: (user) => issueClient(authority, user),
    issueForAdmin: (user) => issueClient(admins, user),
  };
}

async function createAuthority(name: string): Promise<Authority> {
  const keys = await createKeys();
  const certificate = await X509CertificateGenerator.createSelfSigned({
    ...validity(),
    name: [{ CN: [name] }],
    signingAlgorithm,
    keys,
    extensions: [
      new BasicConstraintsExtension(true, undefined, true),
      new KeyUsagesExtension(
        KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign | KeyUsageFlags.digitalSignature,
        true,
      ),
    ],
  });
  return { certificate, privateKey: keys.privateKey };
}

const pairOf = async ({ certificate, privateKey }: Authority): Promise<PemPair> => ({
  certificate: certificate.toString('pem'),
  key: await pemOf(privateKey),
});

function issueClient(authority: Authority, { name, groups = [] }: KubeUser): Promise<PemPair> {
  const subject = [...groups.map((group) => ({ O: [group] })), { CN: [name] }];
  const extensions = [new ExtendedKeyUsageExtension([ExtendedKeyUsage.clientAuth])];
  return issue(authority, subject, extensions);
}

interface Authority {
  readonly certificate: X509Certificate;
  readonly privateKey: webcrypto.CryptoKey;
}

async function issue(
  authority: Authority,
  subject: Record<string, string[]>[],
  extensions: Extension[],
): Promise<PemPair> {
  const { privateKey, publicKey } = await createKeys();
  const certificate = await X509CertificateGenerator.create({
    ...validity(),
    subject,
    issuer: authority.certificate.subject,
    signingAlgorithm,
    signingKey: authority.privateKey,
    publicKey,
    extensions,
  });
  return pairOf({ certificate, privateKey });
}

function servingExtensions(): Extension[] {
  return [
    new ExtendedKeyUsageExtension([ExtendedKeyUsage.serverAuth]),
    new SubjectAlternativeNameExtension([
      ...servedAddresses.map((value) => ({ type: 'ip' as const, value })),
      ...servedNames.map((value) => ({ type: 'dns' as const, value })),
    ]),
  ];
}

/** Begins an hour ago, so that a guest with a slow clock accepts the certificates. */
function validity() {
  const now = Date.now();
  return {
    serialNumber: randomBytes(8).toString('hex'),
    notBefore: new Date(now - HOUR),
    notAfter: new Date(now + 30 * 24 * HOUR),
  };
}

const createKeys = (): Promise<webcrypto.CryptoKeyPair> =>
  subtle.generateKey(ecdsa, true, ['sign', 'verify']);

const pemOf = async (key: webcrypto.CryptoKey): Promise<string> =>
  PemConverter.encode(await subtle.exportKey('pkcs8', key), 'PRIVATE KEY');

/** Content of a kubeconfig. */
interface KubeconfigContent {
  readonly server: string;
  /** The certificate authority, as PEM. */
  readonly ca: string;
  /** A certificate, or the token of a service account. */
  readonly user: PemPair | { readonly token: string };
}

/** The text of a kubeconfig without references to other files, so that it works on any host. */
export function renderKubeconfig({ server, ca, user }: KubeconfigContent): string {
  const name = 'kube-lab';
  return stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [{ name, cluster: { server, 'certificate-authority-data': base64(ca) } }],
      users: [
        {
          name,
          user:
            'token' in user
              ? user
              : {
                  'client-certificate-data': base64(user.certificate),
                  'client-key-data': base64(user.key),
                },
        },
      ],
      contexts: [{ name, context: { cluster: name, user: name } }],
      'current-context': name,
    },
    { lineWidth: 0 },
  );
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
