import { approved } from '../../cluster/csr/signing-request.ts';
import { certificateSigningRequests, clusterRoleBindings, secrets } from '../../cluster/kinds.ts';
import { textAt } from '../../layering/api/cluster-object.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { Kube } from '../../ports/kube.ts';
import type { Ports } from '../../ports/ports.ts';
import type { Controller } from '../../reconcile/manager.ts';
import type { Result } from '../../reconcile/queue.ts';
import { patchOf } from '../../reconcile/write.ts';
import { assetKeys, ownNames } from '../api.ts';
import {
  administratorsBinding,
  clusterUser,
  kubeconfigFor,
  renewAt,
  requestCertificate,
  type RequestedCertificate,
} from './client-certificate.ts';
import { controlPlaneFacts } from './facts.ts';
import type { Guests } from './guest.ts';
import type { ControlPlaneScope } from './perform.ts';
import {
  type ControlPlaneStores,
  type ControlPlaneView,
  readAsset,
  readControlPlane,
  storedControlPlane,
} from './view.ts';
import { createOnce, refOf, secretData } from '../objects.ts';

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
  return Number.isNaN(at) ? 0 : at;
}

interface InGuest {
  readonly view: ControlPlaneView;
  /** The API of the guest. */
  readonly kube: Kube;
}

async function renew(
  scope: RenewScope,
  { view, kube }: InGuest,
  signal: AbortSignal,
): Promise<Result> {
  const { clock, random, note } = scope;
  const asked = requestCertificate(`${clusterUser.name}-${random.uuid()}`);
  const certificate = await signed(scope, { kube, asked }, signal);
  if (certificate === undefined) {
    note(
      'warn',
      'the cluster signs no certificate for its kubeconfig; it keeps the one that it has',
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
  const next = renewAt(certificate);
  const { name, namespace = '' } = now.kubeconfig.metadata;
  const patch = patchOf(now.kubeconfig, {
    metadata: { annotations: { [ownNames.renewAt]: new Date(next).toISOString() } },
    data: secretData({ value: kubeconfig }),
  });
  await scope.kube.patch({ kind: secrets, namespace, name }, patch, signal);
  note('info', `the certificate of Secret ${name} is renewed`);
  return { after: Math.max(next - clock.now(), askAgain) };
}

interface Asking {
  readonly kube: Kube;
  readonly asked: RequestedCertificate;
}

const reason = {
  reason: 'KubeconfigOfCluster',
  message: 'This CSR was approved by the Bootwright control-plane provider, which made it',
};

/** Has a request signed, and removes it; undefined where nobody signs it in time. */
async function signed(
  { clock }: RenewScope,
  { kube, asked: { request } }: Asking,
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
