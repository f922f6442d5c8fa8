import { isDeepStrictEqual } from 'node:util';
import { clusterNotSettled } from '../../cluster/cluster-end.ts';
import { type Emit, notesOf } from '../../engine/events.ts';
import { asAgentError } from '../../engine/failures.ts';
import { secrets } from '../../kube/kinds.ts';
import type { Controller } from '../../kube/manager.ts';
import { textAt } from '../../kube/object.ts';
import type { Queue, Result } from '../../kube/queue.ts';
import { patchOf } from '../../kube/write.ts';
import { seconds } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import { isForbidden } from '../../ports/kube-failures.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { ManagerMetrics } from '../../ports/manager-metrics.ts';
import type { Ports } from '../../ports/ports.ts';
import {
  assetKeys,
  capiNames,
  controlPlanes,
  kubeconfigSecretName,
  type OpenShiftControlPlane,
} from '../api.ts';
import { type CheckResult, right, wrong } from '../conditions.ts';
import { placed, refOf, refTo, secretText } from '../objects.ts';
import {
  type Guest,
  guestSeen,
  type Guests,
  guestsOf,
  hasConfigServer,
  type OpenGuest,
} from './guest.ts';
import { readInstallInputs } from './inputs.ts';
import { type FailedInstaller, makeAssets } from './make-assets.ts';
import { carryOut, type ControlPlaneScope } from './reconcile.ts';
import { isMarked } from './remediate.ts';
import { controlPlaneStatus, type Findings } from './status.ts';
import { readTemplate } from './template.ts';
import { upgradeOf } from './upgrade.ts';
import {
  clusterOwner,
  type ControlPlaneStores,
  type ControlPlaneView,
  readAsset,
  storedControlPlane,
} from './view.ts';

interface ControlPlaneOptions extends Pick<Ports, 'kube' | 'clock'> {
  readonly emit: Emit;
  readonly stores: ControlPlaneStores;
  /** The image of this program, for the Jobs of the installer. */
  readonly ownImage?: string | undefined;
  readonly metrics?: Pick<ManagerMetrics, 'installerEnded'> | undefined;
  readonly openGuest: OpenGuest;
}

/** Events of a control plane within this time are decided on together. */
const gathered = 250;

/** Changes without an event are looked for this often: a missing template, a time limit. */
const decideAgain = seconds(10);

/**
 * The control-plane provider: keeps Machines of control planes, makes the files that they are
 * installed from, and follows their clusters.
 */
export function controlPlaneControllers(options: ControlPlaneOptions): readonly Controller[] {
  const { kube, clock, emit, stores, openGuest, ownImage, metrics } = options;
  const [id, assetsId] = ['control-plane/reconcile', 'control-plane/make-assets'];
  let addKey: Queue['add'] = () => undefined;
  const changed = (key: string): void => addKey(key);
  const guests = guestsOf({ open: openGuest, clock }, changed);
  const failures = new Map<string, FailedInstaller>();
  const work = { kube, clock, note: notesOf(emit, id), stores, guests, failures };
  const assetsScope = {
    ...work,
    note: notesOf(emit, assetsId),
    changed,
    ownImage,
    installerEnded: metrics?.installerEnded,
  };
  const common = {
    reads: Object.values(stores),
    keys: () => stores.controlPlanes.all().map((one) => placed(one)),
  };
  return [
    {
      ...common,
      id,
      settle: gathered,
      title: 'Keep control planes at their desired state',
      idle: 'the control planes are watched',
      about: (key) => `control plane ${key}`,
      watch: (add) => {
        addKey = add;
        watchControlPlanes(stores, add);
      },
      reconcile: (key, signal) => reconcile(work, key, signal),
      takeBack: guests.closeAll,
    },
    {
      ...common,
      id: assetsId,
      title: 'Make the files that control planes are installed from',
      idle: 'every control plane has its files',
      about: (key) => `files of ${key}`,
      watch: (add) => watchControlPlanes(stores, add),
      reconcile: (key, signal) => makeAssets(assetsScope, key, signal),
    },
  ];
}

interface Work extends ControlPlaneScope {
  readonly stores: ControlPlaneStores;
  readonly guests: Guests;
  readonly failures: Map<string, FailedInstaller>;
}

/** One pass over a control plane, by its informers. */
async function reconcile(work: Work, key: string, signal: AbortSignal): Promise<Result> {
  const { kube, clock, stores, guests, failures } = work;
  const view = storedControlPlane(stores, refOf(key), clock.now());
  if (view === undefined) {
    await guests.close(key);
    failures.delete(key);
    return {};
  }
  const guest = await followGuest(work, key, view);
  const answering = guest?.gap() === undefined ? guest : undefined;
  const findings = await findingsOf(work, key, view, guest, signal);
  let failure: AgentError | undefined;
  try {
    const seen = await guestSeen(answering, view, signal);
    const hasTemplate = findings.template.isRight;
    if (await carryOut({ ...work, view, hasTemplate, followed: answering, guest: seen }, signal))
      return {};
  } catch (error) {
    signal.throwIfAborted();
    failure = asAgentError(error);
  }
  const template = creationFinding(view, failure) ?? findings.template;
  const status = controlPlaneStatus(view, { ...findings, template });
  const { controlPlane } = view;
  if (!isDeepStrictEqual(status, controlPlane.status)) {
    const patch = patchOf(controlPlane, { status }, 'status');
    await kube.patch(refTo(controlPlanes, controlPlane), patch, signal);
  }
  if (failure !== undefined) throw failure;
  return mayChangeByTime(view, findings) ? { after: decideAgain } : {};
}

function mayChangeByTime(view: ControlPlaneView, { template, inputs }: Findings): boolean {
  if (view.isPaused || view.isDeleting) return false;
  const checks = [template, inputs?.installState, inputs?.manifests];
  return (
    checks.some((one) => one?.isRight === false) ||
    (view.hosts.length > 0 && !view.isBootstrapComplete) ||
    view.hosts.some(({ machine }) => isMarked(machine))
  );
}

/**
 * Why a Machine is not created: the API server refuses it, or cannot accept it now, as with core's
 * webhooks while core is replaced.
 */
function creationFinding(
  { hosts, replicas }: ControlPlaneView,
  failure: AgentError | undefined,
): CheckResult | undefined {
  if (failure === undefined) return undefined;
  const { code, message } = failure;
  const isMissing = hosts.length < replicas;
  if (code === 'kube.invalid' || code.startsWith('control-plane.'))
    return wrong('CreationFailed', message);
  // What a cluster that is installed forbids is none of these.
  if (isMissing && isForbidden(failure)) return wrong('CreationFailed', message);
  return isMissing && code === 'kube.failed' ? wrong('CreationDelayed', message) : undefined;
}

async function findingsOf(
  { kube, failures, stores }: Work,
  key: string,
  view: ControlPlaneView,
  guest: Guest | undefined,
  signal: AbortSignal,
): Promise<Findings> {
  const { controlPlane } = view;
  const isActive = !view.isPaused && !view.isDeleting;
  const needsInputs = isActive && !view.hasAssets && !view.areAssetsLost;
  const inputs = needsInputs ? await readInstallInputs(kube, controlPlane, signal) : undefined;
  const failed = failures.get(key);
  const guestGap = guest?.gap();
  const answering = guestGap === undefined ? guest : undefined;
  return {
    template: isActive ? await templateFinding(kube, view, signal) : right('Found'),
    inputs,
    assets: inputs && failed?.hash === inputs.hash ? assetsFinding(failed) : undefined,
    isAnswering: answering !== undefined,
    guestGap,
    // The bootstrap host answers no worker.
    hasConfigServer: view.isBootstrapComplete && hasConfigServer(answering),
    upgrade: upgradeOf(controlPlane, answering?.clusterVersion.get('version')),
    healthChecks: stores.healthChecks.by('namespace', controlPlane.metadata.namespace ?? ''),
    notSettled: answering && notSettledIn(answering),
  };
}

async function templateFinding(
  kube: Work['kube'],
  { controlPlane, hosts, replicas }: ControlPlaneView,
  signal: AbortSignal,
): Promise<CheckResult> {
  if (hosts.length >= replicas) return right('Found');
  const found = await readTemplate(kube, controlPlane, signal);
  return 'isRight' in found ? found : right('Found');
}

const failureReasons: Readonly<Record<string, string>> = {
  'installer.manifests-discarded': 'ManifestsDiscarded',
  'installer.incomplete': 'ManifestsIncomplete',
  'kube.denied': 'CreationFailed',
  'kube.invalid': 'CreationFailed',
};

const assetsFinding = ({ error: { code, message } }: FailedInstaller): CheckResult =>
  wrong(failureReasons[code] ?? 'InstallerFailed', message);

function notSettledIn({ clusterVersion, clusterOperators }: Guest): string | undefined {
  const gap = clusterVersion.gap() ?? clusterOperators.gap();
  return gap?.reason ?? clusterNotSettled(clusterVersion.get('version'), clusterOperators.all());
}

/** Follows the guest once its bootstrap host has a control plane; not while nothing may change. */
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
  return guests.follow(key, {
    uid,
    kubeconfig: async (signal) => {
      const own = await readAsset(kube, view, assetKeys.kubeconfig, signal);
      if (own !== undefined) return own;
      // The published one stays where the Secret with the installer's files is gone.
      const name = kubeconfigSecretName(clusterOwner(view.controlPlane)?.name ?? '');
      return secretText(await kube.get({ kind: secrets, namespace, name }, signal), 'value');
    },
  });
}

/** Adds the control planes that a changed object belongs to. */
function watchControlPlanes(stores: ControlPlaneStores, add: Queue['add']): void {
  stores.controlPlanes.onChange(({ before, after }) => {
    const changed = after ?? before;
    if (changed !== undefined) add(placed(changed));
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
        if (cluster === undefined || clusterOwner(one)?.name === cluster) add(placed(one));
    });
  };
  watch(stores.clusters, ({ metadata }) => metadata.name);
  watch(stores.healthChecks, (check) => textAt(check, 'spec', 'clusterName'));
  const { machines, configs, jobs, manifests, installStates } = stores;
  for (const store of [machines, configs, jobs, stores.secrets, manifests, installStates])
    watch(store, ({ metadata }) => metadata.labels?.[capiNames.clusterName]);
}
