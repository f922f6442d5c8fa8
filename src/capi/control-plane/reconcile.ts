import { createHash } from 'node:crypto';
import { approved } from '../../cluster/csr/read-request.ts';
import { certificateSigningRequests, clusterVersions, nodes, secrets } from '../../kube/kinds.ts';
import type { ReadRequest } from '../../cluster/csr/read-request.ts';
import { wholeSeconds } from '../../model/duration.ts';
import { failuresOf, type FailureTable } from '../../model/failure.ts';
import type { Kube, KubeKind, KubeObject } from '../../ports/kube.ts';
import type { Ports } from '../../ports/ports.ts';
import type { Note } from '../../engine/events.ts';
import { patchOf } from '../../kube/write.ts';
import {
  assetKeys,
  type BootstrapConfig,
  bootstrapConfigs,
  type BootstrapConfigStatus,
  capiMachines,
  capiNames,
  controlPlanes,
  kubeconfigSecretName,
  type Machine,
  machineType,
  type OpenShiftControlPlane,
  type OwnedMetadata,
  ownNames,
} from '../api.ts';
import { isConditionTrue, withConditions } from '../conditions.ts';
import { decideProgress, statusAfter, writeStatus } from '../bootstrap/status.ts';
import { hostLadder } from '../bootstrap/stores.ts';
import { createOnce, isControlledBy, refTo, secretData } from '../objects.ts';
import { configServerAuthority, configServerCaIn, type Guest, guestSeen } from './guest.ts';
import { approvals, type GuestSeen, nodeReports, type NodeReport } from './guest-hosts.ts';
import {
  cloneOf,
  configOf,
  leastUsedDomain,
  machineName,
  machineOf,
  type NewMachine,
  ownerOf,
} from './machines.ts';
import {
  ownerRemediated,
  type RemediationAction,
  remediations,
  toBeFollowed,
} from './remediate.ts';
import { readTemplate } from './template.ts';
import { upgradeOf } from './upgrade.ts';
import {
  type ControlPlaneHost,
  type ControlPlaneView,
  readAsset,
  readControlPlane,
} from './view.ts';

/** Failures of the control-plane provider. */
export const controlPlaneFailures = {
  'control-plane.name-taken': {
    kind: 'cluster',
    title: 'An object has the name that a Machine of a control plane would have',
    hint: 'remove the object, or give the control plane another name',
  },
  'control-plane.no-template': {
    kind: 'input',
    title: 'The infrastructure template of a control plane cannot be used',
    hint: 'make the template, install its provider, or delete the Cluster and start again with another infrastructureRef',
  },
} as const satisfies FailureTable;

const controlPlaneFailure = failuresOf(controlPlaneFailures);

/** Owner in `metadata.managedFields` of the conditions that are applied to Machines. */
const fieldManager = 'bootwright-control-plane';

/** The ports that writes need. */
export interface ControlPlaneScope extends Pick<Ports, 'kube' | 'clock'> {
  readonly note: Note;
}

/** A control plane in one pass. */
interface Pass extends ControlPlaneScope {
  readonly view: ControlPlaneView;
  /** The infrastructure template exists, and has a kind of a provider. */
  readonly hasTemplate: boolean;
  /** The cluster that is installed, and what it shows; undefined while it does not answer. */
  readonly followed: Guest | undefined;
  readonly guest: GuestSeen | undefined;
}

/**
 * Does what is due for a control plane. Each write names the version of what it was decided on, and
 * the API server refuses it where that has changed; before something is destroyed, approved or
 * claimed it is read again. Resolves with whether the control plane itself was written: its event
 * begins the next pass.
 * @throws the first failure, after all else was tried; the signal's reason
 */
export async function carryOut(pass: Pass, signal: AbortSignal): Promise<boolean> {
  const { view, guest, followed } = pass;
  const { finalizers = [], annotations = {} } = view.controlPlane.metadata;
  if (view.isPaused) return false;
  if (view.isDeleting) return end(pass, signal);
  if (!hasFinalizer(view.controlPlane)) {
    await setMetadata(pass, { finalizers: [...finalizers, ownNames.finalizer] }, signal);
    return true;
  }
  if (!view.hasAssets && !view.isBootstrapComplete) return false;
  if (areUnfit(view)) {
    await removeAssets(pass, signal);
    return false;
  }
  const actions = remediations(view, guest);
  const isRecordDue =
    view.isBootstrapComplete && annotations[ownNames.bootstrapComplete] === undefined;
  const tasks = [
    () => createMachine(pass, signal),
    ...view.hosts
      .filter(({ isDeleting, machine }) => !isDeleting && !isUpToDate(machine))
      .map(
        ({ machine }) =>
          () =>
            markUpToDate(pass, machine, signal),
      ),
    ...actions.map((action) => () => remediate(pass, action, signal)),
    async () => {
      if (followed !== undefined && isKubeconfigDue(view)) await publishKubeconfig(pass, signal);
    },
    async () => {
      const recorded = { annotations: { [ownNames.bootstrapComplete]: '' } };
      if (isRecordDue) await setMetadata(pass, recorded, signal);
    },
    ...(followed && guest ? guestTasks(pass, followed, guest, signal) : []),
  ];
  await runAll(tasks, signal);
  return isRecordDue || actions.some(({ type }) => type === 'record-remediation');
}

/** Runs each task, also after one has failed. @throws the first failure; the signal's reason */
async function runAll(tasks: readonly (() => Promise<void>)[], signal: AbortSignal): Promise<void> {
  const failures: unknown[] = [];
  for (const task of tasks)
    try {
      await task();
    } catch (error) {
      signal.throwIfAborted();
      failures.push(error);
    }
  if (failures.length > 0) throw failures[0];
}

const isUpToDate = ({ status }: Machine): boolean =>
  isConditionTrue(status?.conditions, 'UpToDate');

/** What is due by what the cluster that is installed shows. */
function guestTasks(
  pass: Pass,
  followed: Guest,
  guest: GuestSeen,
  signal: AbortSignal,
): readonly (() => Promise<void>)[] {
  const { view } = pass;
  const { configServerCa = '' } = guest;
  const trusted = view.assets?.metadata.annotations?.[ownNames.configServerCaHash];
  // The config server of a bootstrap host has the certificate of the installer to its end.
  const isNewAuthority =
    view.isBootstrapComplete &&
    view.hasAssets &&
    configServerCa !== '' &&
    trusted !== hashOf(configServerCa);
  const isUpgradeDue = upgradeOf(view.controlPlane, guest.clusterVersion).update !== undefined;
  return [
    ...nodeReports(view, guest).map((one) => () => reportNode(pass, one, signal)),
    ...approvals(view, guest).map((request) => () => approve(pass, followed, request, signal)),
    ...(isNewAuthority ? [() => trustConfigServer(pass, followed, signal)] : []),
    ...(isUpgradeDue ? [() => upgrade(pass, followed, signal)] : []),
  ];
}

/** The same by requests; undefined where the control plane is gone. */
async function readAgain(pass: Pass, signal: AbortSignal): Promise<Pass | undefined> {
  const { kube, clock, followed } = pass;
  const view = await readControlPlane(kube, pass.view.controlPlane, clock.now(), signal);
  return view && { ...pass, view, guest: await guestSeen(followed, view, signal) };
}

async function setMetadata(
  { kube, view: { controlPlane } }: Pass,
  metadata: object,
  signal: AbortSignal,
): Promise<void> {
  await kube.patch(refTo(controlPlanes, controlPlane), patchOf(controlPlane, { metadata }), signal);
}

/** As an annotation of a Secret has it, whose metadata alone are followed. */
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Whether it has the finalizer. */
export const hasFinalizer = ({ metadata: { finalizers = [] } }: OpenShiftControlPlane): boolean =>
  finalizers.includes(ownNames.finalizer);

/** The finalizer stays until the last Machine is gone: core would keep them for ever otherwise. */
async function end(pass: Pass, signal: AbortSignal): Promise<boolean> {
  const { hosts, controlPlane } = pass.view;
  const isDue = hosts.length === 0 ? hasFinalizer(controlPlane) : !hosts.every(isBeingDeleted);
  const again = isDue ? await readAgain(pass, signal) : undefined;
  if (again === undefined || again.view.isPaused || !again.view.isDeleting) return false;
  const { view } = again;
  for (const { machine } of view.hosts.filter((host) => !isBeingDeleted(host)))
    await removeMachine(pass, machine, signal);
  if (view.hosts.length > 0 || !hasFinalizer(view.controlPlane)) return false;
  const { finalizers = [] } = view.controlPlane.metadata;
  const others = finalizers.filter((one) => one !== ownNames.finalizer);
  await setMetadata(again, { finalizers: others }, signal);
  return true;
}

const isBeingDeleted = ({ isDeleting }: ControlPlaneHost): boolean => isDeleting;

async function removeMachine(
  { kube, note }: Pass,
  machine: Machine,
  signal: AbortSignal,
): Promise<void> {
  const { name, uid } = machine.metadata;
  await kube.remove({ ...refTo(capiMachines, machine), uid }, signal);
  note('info', `Machine ${name} is being deleted`);
}

/** Whether files are to be replaced. A host that has reported may work with them already. */
const areUnfit = ({ isPaused, isDeleting, unfit, hosts }: ControlPlaneView): boolean =>
  !isPaused && !isDeleting && unfit !== undefined && hosts.every(({ stage }) => stage === '');

async function removeAssets(pass: Pass, signal: AbortSignal): Promise<void> {
  const { view } = (await readAgain(pass, signal)) ?? {};
  if (view?.assets === undefined || !areUnfit(view)) return;
  const { name, uid } = view.assets.metadata;
  await pass.kube.remove({ ...refTo(secrets, view.assets), uid }, signal);
  pass.note('info', `Secret ${name} does not fit any more, and is made again`);
}

/**
 * The next Machine: first the bootstrap host, and all others once they can join it. One at a time,
 * as the failure domain of each follows from those before it.
 */
function dueMachine({ view, hasTemplate }: Pass): NewMachine | undefined {
  const { controlPlane, cluster, hosts, replicas, isBootstrapReady } = view;
  const isBootstrap = view.bootstrap === undefined && !isBootstrapReady;
  const isMissing = hosts.length < replicas && (isBootstrap || isBootstrapReady);
  // By the files in its status the API server keeps the number of masters of a single node.
  const isCountKept = replicas > 1 || controlPlane.status?.assets !== undefined;
  if (cluster === undefined || !hasTemplate || !isCountKept || !isMissing || !mayCreate(view))
    return undefined;
  const taken = new Set(hosts.map(({ machine }) => machine.metadata.name));
  let index = 0;
  while (taken.has(machineName(controlPlane, index))) index += 1;
  return {
    name: machineName(controlPlane, index),
    isBootstrap,
    failureDomain: leastUsedDomain(
      cluster,
      hosts.map(({ machine }) => machine.spec.failureDomain),
    ),
    remediationFor: toBeFollowed(view),
  };
}

const mayCreate = (view: ControlPlaneView): boolean =>
  !view.isPaused &&
  !view.isDeleting &&
  view.unfit === undefined &&
  hasFinalizer(view.controlPlane) &&
  view.isInfrastructureReady &&
  view.hasAssets &&
  !view.isBootstrapLost;

/** The Machine is created last: objects of an earlier try are used when it is tried again. */
async function createMachine(pass: Pass, signal: AbortSignal): Promise<void> {
  if (dueMachine(pass) === undefined) return;
  const again = await readAgain(pass, signal);
  const machine = again && dueMachine(again);
  if (machine === undefined || again?.view.cluster === undefined) return;
  const { kube, note } = pass;
  const { controlPlane, cluster } = again.view;
  const found = await readTemplate(kube, controlPlane, signal);
  if (!('template' in found))
    throw controlPlaneFailure('control-plane.no-template', found.message ?? found.reason);
  const made = { controlPlane, cluster };
  const { apiVersion, kind } = found.machine;
  const clone = { ...cloneOf(made, machine, found.template), apiVersion };
  await createOwned(kube, controlPlane, kind, clone, signal);
  await createOwned(kube, controlPlane, bootstrapConfigs, configOf(made, machine), signal);
  await createOwned(kube, controlPlane, capiMachines, machineOf(made, machine), signal);
  const role = machine.isBootstrap ? 'bootstrap host' : 'master';
  note('info', `Machine ${machine.name} is made`, { role });
}

/**
 * Core writes conditions of a Machine too, so each writer applies its own (Cluster API contract,
 * `UpToDate`).
 */
async function markUpToDate(
  { kube, clock }: Pass,
  { metadata: { name, namespace = '', uid = '' } }: Machine,
  signal: AbortSignal,
): Promise<void> {
  const lastTransitionTime = wholeSeconds(clock.now());
  const type = { type: 'UpToDate', status: 'True', reason: 'UpToDate', message: '' };
  const manifest = {
    ...machineType,
    metadata: { name, namespace, uid },
    status: { conditions: [{ ...type, lastTransitionTime }] },
  };
  await kube.apply(manifest, signal, { manager: fieldManager, subresource: 'status' });
}

async function remediate(
  pass: Pass,
  action: RemediationAction,
  signal: AbortSignal,
): Promise<void> {
  const { kube, clock, note } = pass;
  if (action.type === 'record-remediation')
    return setMetadata(pass, { annotations: { [ownNames.remediation]: action.record } }, signal);
  const { machine } = action;
  if (action.type === 'delete-machine') {
    const again = await readAgain(pass, signal);
    const isDue =
      again !== undefined &&
      remediations(again.view, again.guest).some(
        (one) => one.type === action.type && one.machine.metadata.uid === machine.metadata.uid,
      );
    return isDue ? removeMachine(pass, machine, signal) : undefined;
  }
  // A MachineHealthCheck and core write the same list: it is refused where it has changed since.
  const { condition } = action;
  const before = machine.status?.conditions ?? [];
  const conditions =
    condition === undefined
      ? before.filter(({ type }) => type !== ownerRemediated)
      : withConditions(before, [condition], clock.now(), undefined);
  const patch = patchOf(machine, { status: { conditions } }, 'status');
  await kube.patch(refTo(capiMachines, machine), patch, signal);
  if (condition !== undefined)
    note('info', `Machine ${machine.metadata.name} is to be replaced, and is not yet`, {
      reason: condition.reason,
      why: condition.message ?? '',
    });
  return undefined;
}

/** The state of a node becomes the progress of its host, by the rules of any report. */
async function reportNode(
  { kube, clock, note, view }: Pass,
  { config, machine, stage }: NodeReport,
  signal: AbortSignal,
): Promise<void> {
  const ladder = hostLadder({ machine, controlPlane: view.controlPlane });
  const change = (before: BootstrapConfig): BootstrapConfigStatus | undefined => {
    const now = clock.now();
    const context = { ladder, now, isOwn: false };
    const decision = decideProgress(before.status?.progress, { stage, info: '' }, context);
    if (decision.kind !== 'changed') return undefined;
    return statusAfter(before, { progress: decision.progress }, now);
  };
  await writeStatus(kube, config, change, signal);
  note('info', `the node of ${config.metadata.name} is there`, { stage });
}

/** The provider that makes the Ignition of hosts finds it among the files of the installer. */
async function trustConfigServer(
  { kube, note, view: { assets } }: Pass,
  followed: Guest,
  signal: AbortSignal,
): Promise<void> {
  const ca = configServerCaIn(await followed.kube.get(configServerAuthority, signal));
  if (assets === undefined || ca === undefined) return;
  const patch = patchOf(assets, {
    metadata: { annotations: { [ownNames.configServerCaHash]: hashOf(ca) } },
    data: secretData({ [assetKeys.configServerCa]: ca }),
  });
  await kube.patch(refTo(secrets, assets), patch, signal);
  note('info', `Secret ${assets.metadata.name} has the new authority of the config servers`);
}

/** Its own operator decides whether it takes the update: nothing is ever forced. */
async function upgrade(
  { note, view: { controlPlane } }: Pass,
  followed: Guest,
  signal: AbortSignal,
): Promise<void> {
  const ref = { kind: clusterVersions, name: 'version' };
  const clusterVersion = await followed.kube.get(ref, signal);
  const { update } = upgradeOf(controlPlane, clusterVersion);
  if (clusterVersion === undefined || update === undefined) return;
  const patch = patchOf(clusterVersion, { spec: { desiredUpdate: update } });
  await followed.kube.patch(ref, patch, signal);
  note('info', 'an upgrade is requested', { version: update.version, image: update.image });
}

/** A request is read again, with its node, right before it is approved. */
async function approve(
  { clock, note, view }: Pass,
  followed: Guest,
  { claim, metadata: { name, uid } }: ReadRequest,
  signal: AbortSignal,
): Promise<void> {
  if (claim === undefined) return;
  const ref = { kind: certificateSigningRequests, name };
  const [found, node] = await Promise.all([
    followed.kube.get(ref, signal),
    followed.kube.get({ kind: nodes, name: claim.node }, signal),
  ]);
  if (found?.metadata.uid !== uid || found === undefined) return;
  const others = followed.nodes.all().filter((one) => one.metadata.name !== claim.node);
  const now = { nodes: node === undefined ? others : [...others, node], requests: [found] };
  if (approvals(view, now).length === 0) return;
  const next = approved(found, { ...approval, at: clock.now() });
  await followed.kube.replace(ref, next, { subresource: 'approval', signal });
  note('info', `certificate request ${name} is approved`, { node: claim.node });
}

const approval = {
  reason: 'NodeCSRApprove',
  message: 'This CSR was approved by the Bootwright control-plane provider',
};

/**
 * Whether the kubeconfig is missing, or comes from an earlier version: nobody renews the
 * certificate of that.
 */
const isKubeconfigDue = ({ kubeconfig, controlPlane }: ControlPlaneView): boolean =>
  kubeconfig === undefined ||
  (kubeconfig.metadata.annotations?.[ownNames.renewAt] !== undefined &&
    isControlledBy(kubeconfig, controlPlane.metadata.uid));

/**
 * Publishes the kubeconfig of the Cluster (Cluster API contract): the installer's, whose
 * certificate is valid for ten years.
 */
async function publishKubeconfig({ kube, note, view }: Pass, signal: AbortSignal): Promise<void> {
  const { controlPlane, cluster } = view;
  const kubeconfig = await readAsset(kube, view, assetKeys.kubeconfig, signal);
  if (cluster === undefined || kubeconfig === undefined) return;
  const data = secretData({ value: kubeconfig });
  if (view.kubeconfig !== undefined) {
    const patch = patchOf(view.kubeconfig, {
      metadata: { annotations: { [ownNames.renewAt]: null } },
      data,
    });
    await kube.patch(refTo(secrets, view.kubeconfig), patch, signal);
    return;
  }
  const { name } = cluster.metadata;
  const secret = {
    apiVersion: 'v1',
    kind: 'Secret',
    type: capiNames.secretType,
    metadata: {
      name: kubeconfigSecretName(name),
      namespace: controlPlane.metadata.namespace ?? '',
      labels: { [capiNames.clusterName]: name },
      ownerReferences: [ownerOf(controlPlane, true)],
    } as KubeObject['metadata'],
    data,
  };
  await createOwned(kube, controlPlane, secrets, secret, signal);
  note('info', `the API of Cluster ${name} answers`);
}

/** Makes an object, or finds that it was made by the same owner before. */
async function createOwned(
  kube: Pick<Kube, 'create' | 'get'>,
  { metadata: { namespace = '', uid } }: OpenShiftControlPlane,
  kind: KubeKind,
  object: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  if (await createOnce(kube, kind, object, signal)) return;
  const { name } = object.metadata;
  const there = await kube.get({ kind, namespace, name }, signal);
  const { ownerReferences = [], deletionTimestamp }: Partial<OwnedMetadata> = there?.metadata ?? {};
  const isOwn = ownerReferences.some((owner) => owner.uid === uid);
  if (isOwn && deletionTimestamp === undefined) return;
  const what = `${object.kind ?? ''} ${name} is there, and is not of this control plane`;
  throw controlPlaneFailure('control-plane.name-taken', what);
}
