import { isDeepStrictEqual } from 'node:util';
import { asAgentError } from '../../engine/failures.ts';
import { seconds } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import type { Kube, KubeChange } from '../../ports/kube.ts';
import { clusterNotSettled } from '../../cluster/cluster-end.ts';
import { secrets } from '../../kube/kinds.ts';
import type { Ports } from '../../ports/ports.ts';
import { type Emit, notesOf } from '../../engine/events.ts';
import type { Controller } from '../../kube/manager.ts';
import type { Queue, Result } from '../../kube/queue.ts';
import { patchOf } from '../../kube/write.ts';
import {
  assetKeys,
  capiNames,
  controlPlanes,
  kubeconfigSecretName,
  type OpenShiftControlPlane,
} from '../api.ts';
import { right, wrong } from '../conditions.ts';
import type { ManagerMetrics } from '../../ports/manager-metrics.ts';
import { type FailedInstaller, makeAssets } from './make-assets.ts';
import { carryOut, type ControlPlaneScope, type Seen } from './reconcile.ts';
import { readTemplate } from './template.ts';
import { upgradeOf } from './upgrade.ts';
import {
  clusterOwner,
  controlPlaneFacts,
  type ControlPlaneStores,
  type ControlPlaneView,
  readAsset,
  storedControlPlane,
} from './view.ts';
import {
  type Guest,
  guestSeen,
  type Guests,
  guestsOf,
  hasConfigServer,
  type OpenGuest,
} from './guest.ts';
import { type InputsVerdict, readInstallInputs } from './inputs.ts';
import { isMarked } from './remediate.ts';
import { controlPlaneStatus, type Findings } from './status.ts';
import { placed, refOf, refTo, secretText } from '../objects.ts';
import { textAt } from '../../kube/object.ts';
import { isForbidden } from '../../ports/kube-failures.ts';

/** What the control-plane provider works with. */
interface ControlPlanePorts extends Pick<Ports, 'kube' | 'clock'> {
  readonly emit: Emit;
  /** What the controllers follow. */
  readonly stores: ControlPlaneStores;
  /** The image of this program, for the Jobs of the installer. */
  readonly ownImage?: string | undefined;
  readonly metrics?: Pick<ManagerMetrics, 'installerEnded'> | undefined;
  readonly openGuest: OpenGuest;
}

/** What has happened to a control plane within this time is decided on together. */
const gathered = 250;

/**
 * What comes without an event is looked for this often: a template that is missing, a time limit.
 */
const decideAgain = seconds(10);

/**
 * The control-plane provider: keeps Machines of control planes, makes what they are installed from,
 * and follows their clusters.
 */
export function controlPlaneControllers(ports: ControlPlanePorts): readonly Controller[] {
  const { kube, clock, emit, stores, openGuest } = ports;
  const [id, assetsId] = ['control-plane/reconcile', 'control-plane/make-assets'];
  let addKey: Queue['add'] = () => undefined;
  const guests = guestsOf({ open: openGuest, clock }, (key) => addKey(key));
  const failures = new Map<string, FailedInstaller>();
  const scope = { kube, clock, note: notesOf(emit, id) };
  const assetsScope = {
    ...scope,
    stores,
    failures,
    changed: (key: string) => addKey(key),
    note: notesOf(emit, assetsId),
    ownImage: ports.ownImage,
    installerEnded: ports.metrics?.installerEnded,
  };
  const common = {
    reads: Object.values(stores),
    keys: () => stores.controlPlanes.all().map((one) => placed(one)),
    watch: (add: Queue['add']) => watchControlPlanes(stores, add),
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
        common.watch(add);
      },
      reconcile: (key, signal) => reconcile({ scope, stores, guests, failures }, key, signal),
      takeBack: guests.closeAll,
    },
    {
      ...common,
      id: assetsId,
      title: 'Make what control planes are installed from',
      idle: 'every control plane has its files',
      about: (key) => `files of ${key}`,
      reconcile: (key, signal) => makeAssets(assetsScope, key, signal),
    },
  ];
}

interface Work {
  readonly scope: ControlPlaneScope;
  readonly stores: ControlPlaneStores;
  readonly guests: Guests;
  readonly failures: Map<string, FailedInstaller>;
}

/** One pass over a control plane, by what the stores show. */
async function reconcile(work: Work, key: string, signal: AbortSignal): Promise<Result> {
  const { scope, stores, guests, failures } = work;
  const view = storedControlPlane(stores, refOf(key));
  if (view === undefined) {
    await guests.close(key);
    failures.delete(key);
    return {};
  }
  const { seen, findings, guest } = await observe(work, key, view, signal);
  let failure: AgentError | undefined;
  try {
    if (await carryOut({ ...scope, ...seen, followed: guest }, signal)) return {};
  } catch (error) {
    signal.throwIfAborted();
    failure = asAgentError(error);
  }
  const status = controlPlaneStatus(seen, withFailure({ seen, findings }, failure));
  const { controlPlane } = view;
  if (!isDeepStrictEqual(status, controlPlane.status)) {
    const patch = patchOf(controlPlane, { status }, 'status');
    await scope.kube.patch(refTo(controlPlanes, controlPlane), patch, signal);
  }
  if (failure !== undefined) throw failure;
  return isTimed(seen, findings) ? { after: decideAgain } : {};
}

/** Whether something may change without an event. */
function isTimed({ view, now }: Seen, { template, installState, manifests }: Findings): boolean {
  const { isPaused, isDeleting, isBootstrapComplete } = controlPlaneFacts(view, now);
  const isWrong = [template, installState, manifests].some((one) => one?.isRight === false);
  const isUnfinished = view.machines.length > 0 && !isBootstrapComplete;
  return !isPaused && !isDeleting && (isWrong || isUnfinished || view.machines.some(isMarked));
}

/**
 * Why a Machine is not made: who refuses it, or cannot answer for it now, as core's webhooks while
 * core is replaced.
 */
function withFailure(
  { seen: { view }, findings }: Observed,
  failure: AgentError | undefined,
): Findings {
  if (failure === undefined) return findings;
  const { code, message } = failure;
  const isMissing = view.machines.length < (view.controlPlane.spec.replicas ?? 3);
  const isOwn = code === 'kube.invalid' || code.startsWith('control-plane.');
  // What a cluster that is installed forbids is none of these.
  const isRefused = isOwn || (isMissing && isForbidden(failure));
  if (!isRefused && !(code === 'kube.failed' && isMissing)) return findings;
  return {
    ...findings,
    template: wrong(isRefused ? 'CreationFailed' : 'CreationDelayed', message),
  };
}

/** What is decided by, and what is said of it. */
interface Observed {
  readonly seen: Seen;
  readonly findings: Findings;
  /** Where it answers. */
  readonly guest?: Guest | undefined;
}

/** All that a decision needs beside the objects of the management cluster. */
async function observe(
  work: Work,
  key: string,
  view: ControlPlaneView,
  signal: AbortSignal,
): Promise<Observed> {
  const { kube, clock } = work.scope;
  const { controlPlane, machines } = view;
  const now = clock.now();
  const facts = controlPlaneFacts(view, now);
  const isIdle = facts.isPaused || facts.isDeleting;
  const needsTemplate = !isIdle && machines.length < facts.replicas;
  const found = needsTemplate ? await readTemplate(kube, controlPlane, signal) : right('Found');
  const template = 'isRight' in found ? found : right('Found');
  const needsInputs = !isIdle && !facts.hasAssets && !facts.areAssetsLost;
  const inputs = needsInputs ? await readInstallInputs(kube, controlPlane, signal) : undefined;
  const guest = await guestOf(work, key, view);
  const gap = guest?.gap();
  const answering = gap === undefined ? guest : undefined;
  const clusterVersion = answering?.clusterVersion.get('version');
  const { version, finding: upgrade } = upgradeOf(controlPlane, clusterVersion);
  return {
    guest: answering,
    seen: {
      view,
      now,
      hasTemplate: template.isRight,
      isAnswering: answering !== undefined,
      guest: await guestSeen(answering, view, signal),
    },
    findings: {
      template,
      version,
      upgrade,
      guestGap: gap,
      ...inputFindings(inputs, work.failures.get(key)),
      // The bootstrap host answers no worker.
      hasConfigServer: facts.isBootstrapComplete && hasConfigServer(answering),
      notSettled: notSettledIn(answering),
      healthChecks: work.stores.healthChecks.by('namespace', controlPlane.metadata.namespace ?? ''),
    },
  };
}

/** What the guest shows of its end; undefined where nothing is missing to it. */
function notSettledIn(guest: Guest | undefined): string | undefined {
  if (guest === undefined) return undefined;
  const { clusterVersion, clusterOperators } = guest;
  const gap = clusterVersion.gap() ?? clusterOperators.gap();
  return gap?.reason ?? clusterNotSettled(clusterVersion.get('version'), clusterOperators.all());
}

/** How the inputs are, and how the installer has ended with them. */
function inputFindings(
  inputs: InputsVerdict | undefined,
  failed: FailedInstaller | undefined,
): Pick<Findings, 'installState' | 'manifests' | 'assets'> {
  if (inputs === undefined) return {};
  const { installState, manifests, hash } = inputs;
  if (failed?.hash !== hash) return { installState, manifests };
  const { code, message } = failed.error;
  const assets = wrong(failureReasons[code] ?? 'InstallerFailed', message);
  return { installState, manifests, assets };
}

/**
 * The guest, as soon as its bootstrap host has a control plane; not while nothing may be changed.
 */
async function guestOf(
  { scope: { kube, clock }, guests }: Pick<Work, 'scope' | 'guests'>,
  key: string,
  view: ControlPlaneView,
): Promise<Guest | undefined> {
  const facts = controlPlaneFacts(view, clock.now());
  const { isPaused, isDeleting, hasAssets, areAssetsLost, isBootstrapReady } = facts;
  const isKnown = hasAssets || (areAssetsLost && view.kubeconfig !== undefined);
  if (isKnown && isBootstrapReady && !isPaused && !isDeleting)
    return guests.follow(key, {
      uid: view.controlPlane.metadata.uid ?? '',
      kubeconfig: async (signal) =>
        (await readAsset(kube, view, assetKeys.kubeconfig, signal)) ??
        publishedKubeconfig(kube, view, signal),
    });
  await guests.close(key);
  return undefined;
}

/** That of the Cluster, which stays where the Secret with the installer's files is gone. */
async function publishedKubeconfig(
  kube: Pick<Kube, 'get'>,
  { controlPlane }: ControlPlaneView,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { namespace = '' } = controlPlane.metadata;
  const name = kubeconfigSecretName(clusterOwner(controlPlane)?.name ?? '');
  return secretText(await kube.get({ kind: secrets, namespace, name }, signal), 'value');
}

const failureReasons: Readonly<Record<string, string>> = {
  'installer.manifests-discarded': 'ManifestsDiscarded',
  'installer.incomplete': 'ManifestsIncomplete',
  'kube.denied': 'CreationFailed',
  'kube.invalid': 'CreationFailed',
};

/** What adds control planes to a queue. */
function watchControlPlanes(stores: ControlPlaneStores, add: Queue['add']): void {
  const inNamespace = (namespace = ''): readonly OpenShiftControlPlane[] =>
    stores.controlPlanes.by('namespace', namespace) as readonly OpenShiftControlPlane[];
  stores.controlPlanes.onChange(({ before, after }) => {
    const changed = after ?? before;
    if (changed !== undefined) add(placed(changed));
  });
  const addOf = (clusterIn: (change: KubeChange) => string | undefined) => (change: KubeChange) => {
    const cluster = clusterIn(change);
    const { namespace } = (change.after ?? change.before)?.metadata ?? {};
    for (const one of inNamespace(namespace))
      if (cluster === undefined || clusterOwner(one)?.name === cluster) add(placed(one));
  };
  stores.clusters.onChange(addOf(({ before, after }) => (after ?? before)?.metadata.name));
  stores.healthChecks.onChange(
    addOf(({ before, after }) => textAt(after ?? before, 'spec', 'clusterName')),
  );
  const labelled = addOf(
    ({ before, after }) => (after ?? before)?.metadata.labels?.[capiNames.clusterName],
  );
  const { machines, configs, jobs, manifests, installStates } = stores;
  for (const store of [machines, configs, jobs, stores.secrets, manifests, installStates])
    store.onChange(labelled);
}
