import { createSign, generateKeyPairSync, type KeyObject, X509Certificate } from 'node:crypto';
import { approved } from '../../cluster/csr/signing-request.ts';
import { certificateSigningRequests, clusterRoleBindings, secrets } from '../../cluster/kinds.ts';
import { textAt } from '../../layering/api/cluster-object.ts';
import { type Millis, minutes, seconds } from '../../model/duration.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import type { Ports } from '../../ports/ports.ts';
import type { Controller } from '../../reconcile/manager.ts';
import type { Result } from '../../reconcile/queue.ts';
import { patchOf } from '../../reconcile/write.ts';
import { assetKeys, ownNames } from '../api.ts';
import {
  controlPlaneFacts,
  type ControlPlaneStores,
  type ControlPlaneView,
  readAsset,
  readControlPlane,
  storedControlPlane,
} from './view.ts';
import type { Guests } from './guest.ts';
import type { ControlPlaneScope } from './perform.ts';
import { createOnce, isControlledBy, placed, refOf, secretData } from '../objects.ts';
import { yamlIn } from '../../lib/yaml-text.ts';

interface RenewScope extends ControlPlaneScope, Pick<Ports, 'random'> {}

/** The signer of the cluster answers within a second. */
const signLimit = seconds(20);

/** A cluster that does not answer is looked for again so often. */
const guestLater = seconds(30);

/** A cluster without a signer is asked again so often. */
const askAgain = minutes(5);

/**
 * Keeps in the kubeconfig of each Cluster a certificate of its own signer for 24 hours, renewed at half (Cluster API contract: one that
 * is short-lived). Until the bootstrap is complete it is that of the installer.
 */
export function renewController(
  scope: RenewScope,
  { stores, guests }: { readonly stores: ControlPlaneStores; readonly guests: Guests },
): Pick<Controller, 'reconcile'> {
  // An event of a control plane makes no signer answer.
  const notBefore = new Map<string, number>();
  return {
    reconcile: async (key, signal) => {
      const view = storedControlPlane(stores, refOf(key));
      const guest = guests.get(key);
      const due = view && dueAt(scope, view);
      if (view === undefined || due === undefined) return {};
      if (guest === undefined || guest.gap() !== undefined) return { after: guestLater };
      const now = scope.clock.now();
      const from = Math.max(due, notBefore.get(key) ?? 0);
      if (from > now) return { after: from - now };
      notBefore.set(key, now + askAgain);
      return renew(scope, { view, kube: guest.kube }, signal);
    },
  };
}

/** When the kubeconfig is to be renewed; undefined while it is not. */
function dueAt({ clock }: RenewScope, view: ControlPlaneView): number | undefined {
  const { isPaused, isDeleting, isBootstrapComplete, hasAssets } = controlPlaneFacts(
    view,
    clock.now(),
  );
  const mayRenew = !isPaused && !isDeleting && isBootstrapComplete && hasAssets;
  if (!mayRenew || view.kubeconfig === undefined) return undefined;
  const at = Date.parse(view.kubeconfig.metadata.annotations?.[ownNames.renewAt] ?? '');
  if (!Number.isNaN(at)) return at;
  // That of a user is kept (Cluster API, control plane of kubeadm).
  return isControlledBy(view.kubeconfig, view.controlPlane.metadata.uid) ? 0 : undefined;
}

/** By the API of the guest. */
async function renew(
  scope: RenewScope,
  { view, kube }: { readonly view: ControlPlaneView; readonly kube: Kube },
  signal: AbortSignal,
): Promise<Result> {
  const { clock, random, note } = scope;
  const asked = requestCertificate(`${clusterUser.name}-${random.uuid()}`);
  const certificate = await signed(scope, { kube, asked }, signal);
  if (certificate === undefined) {
    note(
      'warn',
      `the cluster of control plane ${placed(view.controlPlane)} signs no certificate for its kubeconfig; it keeps the one that it has`,
    );
    return { after: askAgain };
  }
  const now = await readControlPlane(scope.kube, view.controlPlane, signal);
  if (
    now?.kubeconfig === undefined ||
    (dueAt(scope, now) ?? Number.POSITIVE_INFINITY) > clock.now()
  )
    return {};
  const key = assetKeys.kubeconfig;
  const installers = (await readAsset(scope.kube, now, { key, signal })) ?? '';
  const kubeconfig = kubeconfigFor(installers, { key: asked.key, certificate });
  if (kubeconfig === undefined) return {};
  const next = clock.now() + halfLife(certificate);
  const { name, namespace = '' } = now.kubeconfig.metadata;
  const patch = patchOf(now.kubeconfig, {
    metadata: { annotations: { [ownNames.renewAt]: new Date(next).toISOString() } },
    data: secretData({ value: kubeconfig }),
  });
  await scope.kube.patch({ kind: secrets, namespace, name }, patch, signal);
  note('info', `the certificate of Secret ${name} is renewed`);
  return { after: Math.max(next - clock.now(), askAgain) };
}

const reason = {
  reason: 'KubeconfigOfCluster',
  message: 'This CSR was approved by the Bootwright control-plane provider, which made it',
};

/** Has a request signed, and removes it; undefined where nobody signs it in time. */
async function signed(
  { clock }: RenewScope,
  { kube, asked: { request } }: { readonly kube: Kube; readonly asked: RequestedCertificate },
  signal: AbortSignal,
): Promise<string | undefined> {
  const binding = { kind: clusterRoleBindings, object: administratorsBinding };
  await createOnce(kube, binding, signal);
  const made = await kube.create({ kind: certificateSigningRequests }, request, signal);
  const ref = { kind: certificateSigningRequests, name: made.metadata.name };
  const next = approved(made, { ...reason, at: clock.now() });
  await kube.replace(ref, next, { subresource: 'approval', signal });
  const until = clock.elapsed() + signLimit;
  let certificate = '';
  while (certificate === '' && clock.elapsed() < until) {
    certificate = textAt(await kube.get(ref, signal), 'status', 'certificate');
    if (certificate === '') await clock.sleep(500, signal);
  }
  await kube.remove(ref, signal);
  return certificate === '' ? undefined : Buffer.from(certificate, 'base64').toString();
}

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

/** Half of the life of a certificate, which begins by the clock of its cluster; 0 where it cannot be read. */
function halfLife(certificate: string): Millis {
  try {
    const { validFromDate, validToDate } = new X509Certificate(certificate);
    return (validToDate.getTime() - validFromDate.getTime()) / 2;
  } catch {
    return 0;
  }
}
