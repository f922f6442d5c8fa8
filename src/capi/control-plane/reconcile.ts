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
  type CapiCluster,
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
  type ControlPlaneFacts,
  controlPlaneFacts,
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

/** Who applies what the control plane says of Machines, in `metadata.managedFields`. */
const fieldManager = 'bootwright-control-plane';

/** What writes work with. */
export interface ControlPlaneScope extends Pick<Ports, 'kube' | 'clock'> {
  readonly note: Note;
}

/** A control plane, and what was found out beside its objects. */
export interface Seen {
  readonly view: ControlPlaneView;
  readonly now: number;
  /** The infrastructure template is there, and of a kind that a provider has. */
  readonly hasTemplate: boolean;
  /** The API of the guest answers. */
  readonly isAnswering: boolean;
  /** What the guest shows; undefined while it does not answer. */
  readonly guest?: GuestSeen | undefined;
}

/** The same with what is written to. */
interface Place extends ControlPlaneScope, Seen {
  /** The cluster that is installed, where it answers. */
  readonly followed: Guest | undefined;
}

/**
 * Does what is due for a control plane by what the stores show. Each write names what it was
 * decided on, and the API server refuses it where that has changed; what is destroyed or approved,
 * and a host that is claimed, is read again first. Resolves with whether the control plane itself
 * was written: its event begins the next pass.
 * @throws the first failure, after all else was tried; the signal's reason
 */
export async function carryOut(place: Place, signal: AbortSignal): Promise<boolean> {
  const { view, now, guest, isAnswering } = place;
  const { controlPlane } = view;
  const facts = controlPlaneFacts(view, now);
  if (facts.isPaused) return false;
  if (facts.isDeleting) return end(place, signal);
  const { finalizers = [], annotations = {} } = controlPlane.metadata;
  if (!hasFinalizer(controlPlane)) {
    await setMetadata(place, { finalizers: [...finalizers, ownNames.finalizer] }, signal);
    return true;
  }
  if (!facts.hasAssets && !facts.isBootstrapComplete) return false;
  if (areUnfit(facts)) {
    await removeAssets(place, signal);
    return false;
  }
  const marks = facts.hosts.filter(
    ({ isDeleting, machine: { status } }) =>
      !isDeleting && !isConditionTrue(status?.conditions, 'UpToDate'),
  );
  const remediation = remediationsOf(place);
  const isRecordDue =
    facts.isBootstrapComplete && annotations[ownNames.bootstrapComplete] === undefined;
  const tasks = [
    () => createMachine(place, signal),
    ...marks.map(
      ({ machine }) =>
        () =>
          markUpToDate(place, machine, signal),
    ),
    ...remediation.map((one) => () => remediate(place, one, signal)),
    async () => {
      if (isAnswering && isKubeconfigDue(view)) await publishKubeconfig(place, signal);
    },
    async () => {
      const recorded = { annotations: { [ownNames.bootstrapComplete]: '' } };
      if (isRecordDue) await setMetadata(place, recorded, signal);
    },
    ...(guest === undefined ? [] : guestTasks(place, guest, signal)),
  ];
  const failures: unknown[] = [];
  for (const task of tasks)
    try {
      await task();
    } catch (error) {
      signal.throwIfAborted();
      failures.push(error);
    }
  if (failures.length > 0) throw failures[0];
  return isRecordDue || remediation.some(({ type }) => type === 'record-remediation');
}

/** What the cluster that is installed asks for. */
function guestTasks(
  place: Place,
  guest: GuestSeen,
  signal: AbortSignal,
): readonly (() => Promise<void>)[] {
  const { view, now } = place;
  const { isBootstrapComplete, hasAssets } = controlPlaneFacts(view, now);
  const { configServerCa = '' } = guest;
  const trusted = view.assets?.metadata.annotations?.[ownNames.configServerCaHash];
  // The config server of a bootstrap host has the certificate of the installer to its end.
  const isNewAuthority =
    isBootstrapComplete && hasAssets && configServerCa !== '' && trusted !== hashOf(configServerCa);
  const isUpgradeDue = upgradeOf(view.controlPlane, guest.clusterVersion).update !== undefined;
  return [
    ...nodeReports(view, guest).map((one) => () => reportNode(place, one, signal)),
    ...approvals(view, guest).map((request) => () => approve(place, request, signal)),
    ...(isNewAuthority ? [() => trustConfigServer(place, signal)] : []),
    ...(isUpgradeDue ? [() => upgrade(place, signal)] : []),
  ];
}

/** As it is by requests of its own; undefined where it is gone. */
async function readAgain(place: Place, signal: AbortSignal): Promise<Place | undefined> {
  const view = await readControlPlane(place.kube, place.view.controlPlane, signal);
  if (view === undefined) return undefined;
  return { ...place, view, guest: await guestSeen(place.followed, view, signal) };
}

async function setMetadata(
  { kube, view: { controlPlane } }: Place,
  metadata: object,
  signal: AbortSignal,
): Promise<void> {
  await kube.patch(refTo(controlPlanes, controlPlane), patchOf(controlPlane, { metadata }), signal);
}

/** As an annotation of a Secret has it, of which the metadata alone are followed. */
const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Whether it has the finalizer. */
export const hasFinalizer = ({ metadata: { finalizers = [] } }: OpenShiftControlPlane): boolean =>
  finalizers.includes(ownNames.finalizer);

/** The finalizer stays until the last Machine is gone: core would keep them for ever otherwise. */
async function end(place: Place, signal: AbortSignal): Promise<boolean> {
  const { kube, note } = place;
  const isOpen = ({ metadata }: Machine): boolean => metadata.deletionTimestamp === undefined;
  const { machines, controlPlane } = place.view;
  if (machines.length === 0 ? !hasFinalizer(controlPlane) : !machines.some(isOpen)) return false;
  const again = await readAgain(place, signal);
  const { isPaused = true, isDeleting = false } =
    again === undefined ? {} : controlPlaneFacts(again.view, again.now);
  if (again === undefined || isPaused || !isDeleting) return false;
  for (const machine of again.view.machines.filter(isOpen)) {
    await kube.remove({ ...refTo(capiMachines, machine), uid: machine.metadata.uid }, signal);
    note('info', `Machine ${machine.metadata.name} is being deleted`);
  }
  const { finalizers = [] } = again.view.controlPlane.metadata;
  if (again.view.machines.length > 0 || !hasFinalizer(again.view.controlPlane)) return false;
  const left = finalizers.filter((one) => one !== ownNames.finalizer);
  await setMetadata(again, { finalizers: left }, signal);
  return true;
}

/** A host that has reported may work with the files already. */
const areUnfit = (facts: ControlPlaneFacts): boolean =>
  isAtWork(facts) && facts.unfit !== undefined && facts.hosts.every(({ stage }) => stage === '');

async function removeAssets(place: Place, signal: AbortSignal): Promise<void> {
  const again = await readAgain(place, signal);
  const { assets } = again?.view ?? {};
  if (again === undefined || assets === undefined) return;
  if (!areUnfit(controlPlaneFacts(again.view, again.now))) return;
  const { name, uid } = assets.metadata;
  await place.kube.remove({ ...refTo(secrets, assets), uid }, signal);
  place.note('info', `Secret ${name} does not fit any more, and is made again`);
}

/**
 * The Machine that is to be made next: first the bootstrap host, and all others once they can join
 * it. One at a time, as the failure domain of each follows from those before it.
 */
function dueMachine({ view, now, hasTemplate }: Seen): NewMachine | undefined {
  const facts = controlPlaneFacts(view, now);
  const { controlPlane, cluster } = view;
  const { hosts, replicas, isBootstrapReady } = facts;
  const isBootstrap = facts.bootstrap === undefined && !isBootstrapReady;
  const isMissing = hosts.length < replicas && (isBootstrap || isBootstrapReady);
  // By the files in its status the API server holds a single node's number of masters.
  const isHeld = replicas > 1 || controlPlane.status?.assets !== undefined;
  if (cluster === undefined || !hasTemplate || !isHeld || !isMissing || !mayMake(view, facts))
    return undefined;
  const taken = new Set(hosts.map(({ machine }) => machine.metadata.name));
  let index = 0;
  while (taken.has(machineName(controlPlane, index))) index += 1;
  const domains = hosts.map(({ machine }) => machine.spec.failureDomain);
  return {
    name: machineName(controlPlane, index),
    isBootstrap,
    failureDomain: leastUsedDomain(cluster, domains),
    remediationFor: toBeFollowed(view),
  };
}

const mayMake = ({ controlPlane }: ControlPlaneView, facts: ControlPlaneFacts): boolean =>
  isAtWork(facts) &&
  facts.unfit === undefined &&
  hasFinalizer(controlPlane) &&
  facts.isInfrastructureReady &&
  facts.hasAssets &&
  !facts.isBootstrapLost;

const isAtWork = ({ isPaused, isDeleting }: ControlPlaneFacts): boolean => !isPaused && !isDeleting;

/** The Machine is made last: what is there of one before is taken when it is made again. */
async function createMachine(place: Place, signal: AbortSignal): Promise<void> {
  const { kube, note } = place;
  if (dueMachine(place) === undefined) return;
  const again = await readAgain(place, signal);
  const machine = again && dueMachine(again);
  if (machine === undefined) return;
  const { controlPlane, cluster } = again?.view ?? place.view;
  const found = await readTemplate(kube, controlPlane, signal);
  if (!('template' in found))
    throw controlPlaneFailure('control-plane.no-template', found.message ?? found.reason);
  if (cluster === undefined) return;
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
  { kube, clock }: Place,
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

/** None while nothing may be changed. */
function remediationsOf({ view, now, guest }: Seen): readonly RemediationAction[] {
  const facts = controlPlaneFacts(view, now);
  return isAtWork(facts) ? remediations({ view, facts, now, guest }) : [];
}

async function remediate(
  place: Place,
  action: RemediationAction,
  signal: AbortSignal,
): Promise<void> {
  const { kube, clock, note } = place;
  if (action.type === 'record-remediation')
    return setMetadata(place, { annotations: { [ownNames.remediation]: action.record } }, signal);
  const { machine } = action;
  if (action.type === 'delete-machine') {
    const again = await readAgain(place, signal);
    const isDue =
      again !== undefined &&
      remediationsOf(again).some(
        (one) => one.type === action.type && one.machine.metadata.uid === machine.metadata.uid,
      );
    if (!isDue) return undefined;
    await kube.remove({ ...refTo(capiMachines, machine), uid: machine.metadata.uid }, signal);
    note('info', `Machine ${machine.metadata.name} is being deleted`);
    return undefined;
  }
  // A MachineHealthCheck and core write the same list: it is refused where it has changed since.
  const { condition } = action;
  const before = machine.status?.conditions ?? [];
  const conditions =
    condition === undefined
      ? before.filter(({ type }) => type !== ownerRemediated)
      : withConditions(before, [condition], { now: clock.now(), generation: undefined });
  const patch = patchOf(machine, { status: { conditions } }, 'status');
  await kube.patch(refTo(capiMachines, machine), patch, signal);
  if (condition === undefined) return undefined;
  const { reason, message: why = '' } = condition;
  const what = `Machine ${machine.metadata.name} is to be replaced, and is not yet`;
  note('info', what, { reason, why });
  return undefined;
}

/** What a node shows becomes the progress of its host, by the rules of any report. */
async function reportNode(
  { kube, clock, note, view }: Place,
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
  { kube, note, followed, view: { assets } }: Place,
  signal: AbortSignal,
): Promise<void> {
  const ca = configServerCaIn(await followed?.kube.get(configServerAuthority, signal));
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
  { note, followed, view: { controlPlane } }: Place,
  signal: AbortSignal,
): Promise<void> {
  const ref = { kind: clusterVersions, name: 'version' };
  const clusterVersion = await followed?.kube.get(ref, signal);
  const { update } = upgradeOf(controlPlane, clusterVersion);
  if (followed === undefined || clusterVersion === undefined || update === undefined) return;
  const patch = patchOf(clusterVersion, { spec: { desiredUpdate: update } });
  await followed.kube.patch(ref, patch, signal);
  note('info', 'an upgrade is requested', { version: update.version, image: update.image });
}

/** A request is read again, with its node, right before it is approved. */
async function approve(
  { clock, note, followed, view }: Place,
  { claim, metadata: { name, uid } }: ReadRequest,
  signal: AbortSignal,
): Promise<void> {
  if (followed === undefined || claim === undefined) return;
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
 * Whether there is none, or one that earlier versions made, whose certificate nobody renews any
 * more.
 */
const isKubeconfigDue = ({ kubeconfig, controlPlane }: ControlPlaneView): boolean =>
  kubeconfig === undefined ||
  (kubeconfig.metadata.annotations?.[ownNames.renewAt] !== undefined &&
    isControlledBy(kubeconfig, controlPlane.metadata.uid));

async function publishKubeconfig({ kube, note, view }: Place, signal: AbortSignal): Promise<void> {
  const { controlPlane, cluster } = view;
  const kubeconfig = await readAsset(kube, view, assetKeys.kubeconfig, signal);
  if (cluster === undefined || kubeconfig === undefined) return;
  const object = kubeconfigSecret(controlPlane, cluster, kubeconfig);
  if (view.kubeconfig !== undefined) {
    const patch = patchOf(view.kubeconfig, {
      metadata: { annotations: { [ownNames.renewAt]: null } },
      data: object['data'],
    });
    await kube.patch(refTo(secrets, view.kubeconfig), patch, signal);
    return;
  }
  await createOwned(kube, controlPlane, secrets, object, signal);
  note('info', `the API of Cluster ${cluster.metadata.name} answers`);
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

/**
 * The kubeconfig of a Cluster (Cluster API contract): that of the installer, whose certificate
 * lasts ten years.
 */
const kubeconfigSecret = (
  controlPlane: OpenShiftControlPlane,
  { metadata: { name } }: CapiCluster,
  kubeconfig: string,
): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  type: capiNames.secretType,
  metadata: {
    name: kubeconfigSecretName(name),
    namespace: controlPlane.metadata.namespace ?? '',
    labels: { [capiNames.clusterName]: name },
    ownerReferences: [ownerOf(controlPlane, true)],
  } as KubeObject['metadata'],
  data: secretData({ value: kubeconfig }),
});
