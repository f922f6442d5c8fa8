import { isDeepStrictEqual } from 'node:util';
import { type Emit, notesOf } from '../../engine/events.ts';
import { asAgentError } from '../../engine/failures.ts';
import { secrets } from '../../kube/kinds.ts';
import type { Controller } from '../../kube/manager.ts';
import { patchOf, textAt } from '../../kube/object.ts';
import type { Queue, Result } from '../../kube/queue.ts';
import { seconds } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import type { KubeObject } from '../../ports/kube.ts';
import {
  assetKeys,
  capiNames,
  controlPlanes,
  kubeconfigSecretName,
  type OpenShiftControlPlane,
} from '../api.ts';
import { findCondition, passedCheck } from '../conditions.ts';
import { objectKey, refOf, refTo, secretText } from '../objects.ts';
import type { GuestView } from './guest-hosts.ts';
import { type Guest, guestsOf, type OpenGuest, readMasters } from './guest.ts';
import { readInstallInputs } from './inputs.ts';
import type { ControlPlaneScope, Pass } from './pass.ts';
import { carryOut } from './reconcile.ts';
import { isMarked } from './remediate.ts';
import { assetsFailure, controlPlaneStatus } from './status.ts';
import { readTemplate } from './template.ts';
import { upgradeOf } from './upgrade.ts';
import {
  clusterOwner,
  type ControlPlaneStores,
  type ControlPlaneView,
  readAsset,
  storedControlPlane,
} from './view.ts';

interface ControlPlaneOptions extends Omit<ControlPlaneScope, 'note'> {
  readonly emit: Emit;
  readonly stores: ControlPlaneStores;
  readonly openGuest: OpenGuest;
}

/** Events of a control plane within this time are handled together. */
const gathered = 250;

/** Interval of the check for changes without an event: a missing template, a time limit. */
const decideAgain = seconds(10);

/**
 * The control-plane provider: makes and replaces the Machines of control planes, makes their
 * installation files, and follows their clusters.
 */
export function controlPlaneControllers({
  emit,
  openGuest,
  ...options
}: ControlPlaneOptions): readonly Controller[] {
  const { clock, stores } = options;
  const id = 'control-plane/reconcile';
  let addKey: Queue['add'] = () => undefined;
  const guests = guestsOf({ open: openGuest, clock }, (key) => addKey(key));
  const scope = { ...options, note: notesOf(emit, id), guests };
  return [
    {
      id,
      settle: gathered,
      title: 'Keep control planes at their desired state',
      idle: 'the control planes are watched',
      about: (key) => `control plane ${key}`,
      reads: Object.values(stores),
      keys: () => stores.controlPlanes.all().map((one) => objectKey(one)),
      watch: (add) => {
        addKey = add;
        watchControlPlanes(stores, add);
      },
      reconcile: (key, signal) => reconcile(scope, key, signal),
      takeBack: guests.closeAll,
    },
  ];
}

interface Work extends ControlPlaneScope {
  readonly stores: ControlPlaneStores;
  readonly guests: ReturnType<typeof guestsOf>;
}

/** One pass over a control plane, by its informers. */
async function reconcile(work: Work, key: string, signal: AbortSignal): Promise<Result> {
  const { kube, clock, stores, guests } = work;
  const view = storedControlPlane(stores, refOf(key), clock.now());
  if (view === undefined) {
    await guests.close(key);
    return {};
  }
  const { controlPlane } = view;
  const guest = await followGuest(work, key, view);
  const pass = await passOf(work, view, guest, signal);
  let failure: AgentError | undefined;
  try {
    if (await carryOut(pass, signal)) return {};
  } catch (error) {
    signal.throwIfAborted();
    failure = asAgentError(error);
  }
  const status = controlPlaneStatus(pass, failure);
  if (!isDeepStrictEqual(status, controlPlane.status)) {
    const patch = patchOf(controlPlane, { status }, 'status');
    await kube.patch(refTo(controlPlanes, controlPlane), patch, signal);
  }
  if (failure !== undefined) {
    const isOfAssets = assetsFailure(view, failure) !== undefined;
    if (isOfAssets) noteFailure(pass, failure);
    // A failure caused by the inputs is final until they change, or the Job is removed.
    if (!isOfAssets || !failure.isFinal) throw failure;
  }
  return mayChangeByTime(pass) ? { after: decideAgain } : {};
}

/** Reads objects without an informer, if a decision depends on them. */
async function passOf(
  work: Work,
  view: ControlPlaneView,
  guest: Guest | undefined,
  signal: AbortSignal,
): Promise<Pass> {
  const { kube, stores } = work;
  const { controlPlane, hosts, replicas, cluster } = view;
  const { namespace = '' } = controlPlane.metadata;
  const isActive = !view.isPaused && !view.isDeleting;
  const needsInputs = isActive && !view.hasAssets && !view.areAssetsLost;
  const isMissing = isActive && hosts.length < replicas;
  const jobs = stores.jobs.by('cluster', objectKey(controlPlane, cluster?.metadata.name));
  const seen = await guestOf(work, view, guest, signal);
  const { template, check = passedCheck('Found') } = isMissing
    ? await readTemplate(kube, controlPlane, signal)
    : {};
  return {
    ...work,
    view,
    hasJobs: jobs.length > 0,
    template,
    templateCheck: check,
    inputs: needsInputs ? await readInstallInputs(kube, controlPlane, signal) : undefined,
    guest: seen,
    guestGap: guest?.gap(),
    upgrade: upgradeOf(controlPlane, seen?.clusterVersion),
    healthChecks: stores.healthChecks.by('namespace', namespace),
  };
}

/** The guest, unless it does not answer; its masters are read again while one may be replaced. */
async function guestOf(
  { clock }: Work,
  { hosts }: ControlPlaneView,
  guest: Guest | undefined,
  signal: AbortSignal,
): Promise<GuestView | undefined> {
  if (guest === undefined || guest.gap() !== undefined) return undefined;
  const seen = guest.seen();
  return hosts.some(({ machine }) => isMarked(machine))
    ? { ...seen, ...(await readMasters(seen.kube, clock, signal)) }
    : seen;
}

function mayChangeByTime({ view, inputs, templateCheck }: Pass): boolean {
  if (view.isPaused || view.isDeleting) return false;
  const checks = [templateCheck, inputs?.installState, inputs?.manifests];
  return (
    checks.some((one) => one?.status === 'False') ||
    (view.hosts.length > 0 && !view.isBootstrapComplete) ||
    view.hosts.some(({ machine }) => isMarked(machine))
  );
}

/** Counts and logs once why the files cannot be made. */
function noteFailure({ view, metrics, note }: Pass, { code, message }: AgentError): void {
  const { metadata, status } = view.controlPlane;
  if (findCondition(status?.conditions, 'AssetsGenerated')?.message === message) return;
  if (code.startsWith('installer.')) metrics?.installerEnded('failed');
  note('warn', `the files of control plane ${metadata.name} cannot be made`, { code });
}

/**
 * Follows the guest once its bootstrap host has a control plane, unless the control plane is
 * paused.
 */
async function followGuest(
  { kube, guests }: Work,
  key: string,
  view: ControlPlaneView,
): Promise<Guest | undefined> {
  const isKnown = view.hasAssets || (view.areAssetsLost && view.kubeconfig !== undefined);
  if (!isKnown || !view.isBootstrapReady || view.isPaused || view.isDeleting) {
    await guests.close(key);
    return undefined;
  }
  const { uid = '', namespace = '' } = view.controlPlane.metadata;
  return guests.follow(key, uid, async (signal) => {
    const own = await readAsset(kube, view, assetKeys.kubeconfig, signal);
    if (own !== undefined) return own;
    // The published kubeconfig remains if the Secret with the installer's files is gone.
    const name = kubeconfigSecretName(clusterOwner(view.controlPlane)?.name ?? '');
    return secretText(await kube.get({ kind: secrets, namespace, name }, signal), 'value');
  });
}

/** Adds the control planes of a changed object to the queue. */
function watchControlPlanes(stores: ControlPlaneStores, add: Queue['add']): void {
  stores.controlPlanes.onChange(({ before, after }) => {
    const changed = after ?? before;
    if (changed !== undefined) add(objectKey(changed));
  });
  const watch = (
    store: Pick<ControlPlaneStores['clusters'], 'onChange'>,
    clusterIn: (object: KubeObject) => string | undefined,
  ): void => {
    store.onChange(({ before, after }) => {
      const changed = after ?? before;
      if (changed === undefined) return;
      const cluster = clusterIn(changed);
      const all = stores.controlPlanes.by('namespace', changed.metadata.namespace ?? '');
      for (const one of all as readonly OpenShiftControlPlane[])
        if (cluster === undefined || clusterOwner(one)?.name === cluster) add(objectKey(one));
    });
  };
  watch(stores.clusters, ({ metadata }) => metadata.name);
  watch(stores.healthChecks, (check) => textAt(check, 'spec', 'clusterName'));
  const { machines, configs, jobs, manifests, installStates } = stores;
  for (const store of [machines, configs, jobs, stores.secrets, manifests, installStates])
    watch(store, ({ metadata }) => metadata.labels?.[capiNames.clusterName]);
}
