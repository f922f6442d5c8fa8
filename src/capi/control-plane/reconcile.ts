import { createHash } from 'node:crypto';
import { approved, type ReadRequest } from '../../cluster/csr/read-request.ts';
import { certificateSigningRequests, clusterVersions, nodes, secrets } from '../../kube/kinds.ts';
import { patchOf } from '../../kube/object.ts';
import { wholeSeconds } from '../../model/duration.ts';
import { failuresOf, type FailureTable } from '../../model/failure.ts';
import type { Kube, KubeKind, KubeObject } from '../../ports/kube.ts';
import {
  assetKeys,
  bootstrapConfigs,
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
import { decideProgress, statusAfter, writeStatus } from '../bootstrap/status.ts';
import { hostLadder } from '../bootstrap/stores.ts';
import { isConditionTrue, withConditions } from '../conditions.ts';
import { createOnce, refTo, secretData } from '../objects.ts';
import { approvals, type GuestView, type NodeReport, nodeReports } from './guest-hosts.ts';
import { readMasters } from './guest.ts';
import { makeAssets, removeUsedJobs } from './installer-jobs.ts';
import {
  cloneOf,
  configOf,
  leastUsedDomain,
  machineName,
  machineOf,
  type NewMachine,
  ownerOf,
} from './machines.ts';
import type { Pass } from './pass.ts';
import { ownerRemediated, type Remediations, remediations, toBeFollowed } from './remediate.ts';
import { upgradeOf } from './upgrade.ts';
import { type ControlPlaneView, readAsset, readControlPlane } from './view.ts';

/** Failures of the control-plane provider. */
export const controlPlaneFailures = {
  'control-plane.name-taken': {
    kind: 'cluster',
    title: 'An object has the name that a Machine of a control plane would have',
    hint: 'remove the object, or give the control plane another name',
  },
} as const satisfies FailureTable;

const controlPlaneFailure = failuresOf(controlPlaneFailures);

/**
 * Does the due work for a control plane. Each write names the resourceVersion of its decision, and
 * the API server refuses it if the object has changed. Objects are read again right before a
 * deletion, an approval, an upgrade and a new Machine. Resolves with whether the control plane
 * itself was written: its event starts the next pass.
 * @throws the first failure, after all other work was tried; the signal's reason
 */
export async function carryOut(pass: Pass, signal: AbortSignal): Promise<boolean> {
  const { view, guest } = pass;
  const { finalizers = [] } = view.controlPlane.metadata;
  if (view.isPaused) return false;
  if (view.isDeleting) return end(pass, signal);
  if (!hasFinalizer(view)) {
    await setMetadata(pass, { finalizers: [...finalizers, ownNames.finalizer] }, signal);
    return true;
  }
  await removeUsedJobs(pass, signal);
  await makeAssets(pass, signal);
  if (!view.hasAssets && !view.isBootstrapComplete) return false;
  if (areUnused(view)) {
    await removeAssets(pass, signal);
    return false;
  }
  const due = remediations(view, guest);
  const isRecordDue = isCompleteUnrecorded(view);
  const failures: unknown[] = [];
  for (const task of dueTasks(pass, due))
    try {
      await task(signal);
    } catch (error) {
      signal.throwIfAborted();
      failures.push(error);
    }
  if (failures.length > 0) throw failures[0];
  return isRecordDue || due.record !== undefined;
}

const isCompleteUnrecorded = ({ isBootstrapComplete, controlPlane }: ControlPlaneView): boolean =>
  isBootstrapComplete &&
  controlPlane.metadata.annotations?.[ownNames.bootstrapComplete] === undefined;

type Task = (signal: AbortSignal) => Promise<void>;

/** The due work for Machines, and in the installed cluster. */
function dueTasks(pass: Pass, { record, remove, reports }: Remediations): readonly Task[] {
  const { view, guest } = pass;
  const tasks: Task[] = [(signal) => createMachine(pass, signal)];
  for (const { isDeleting, machine } of view.hosts)
    if (!isDeleting && !isConditionTrue(machine.status?.conditions, 'UpToDate'))
      tasks.push((signal) => markUpToDate(pass, machine, signal));
  for (const one of reports) tasks.push((signal) => reportRemediation(pass, one, signal));
  if (record !== undefined)
    tasks.push((signal) =>
      setMetadata(pass, { annotations: { [ownNames.remediation]: record } }, signal),
    );
  if (remove !== undefined) tasks.push((signal) => removeMarked(pass, remove, signal));
  const recorded = { annotations: { [ownNames.bootstrapComplete]: '' } };
  if (isCompleteUnrecorded(view)) tasks.push((signal) => setMetadata(pass, recorded, signal));
  if (guest === undefined) return tasks;
  for (const one of nodeReports(view, guest.nodes))
    tasks.push((signal) => reportNode(pass, one, signal));
  for (const request of approvals(view, guest))
    tasks.push((signal) => approve(pass, guest, request, signal));
  return [
    ...tasks,
    (signal) => publishKubeconfig(pass, signal),
    (signal) => trustConfigServer(pass, guest, signal),
    (signal) => upgrade(pass, guest, signal),
  ];
}

/** The view with objects read by requests; undefined if the control plane is gone. */
const readAgain = (
  { kube, clock, view: { controlPlane } }: Pass,
  signal: AbortSignal,
): Promise<ControlPlaneView | undefined> =>
  readControlPlane(kube, controlPlane, clock.now(), signal);

/** The same, unless it has been paused or deleted since the decision. */
async function activeAgain(pass: Pass, signal: AbortSignal): Promise<ControlPlaneView | undefined> {
  const view = await readAgain(pass, signal);
  return view === undefined || view.isPaused || view.isDeleting ? undefined : view;
}

async function setMetadata(
  { kube, view: { controlPlane } }: Pick<Pass, 'kube' | 'view'>,
  metadata: object,
  signal: AbortSignal,
): Promise<void> {
  await kube.patch(refTo(controlPlanes, controlPlane), patchOf(controlPlane, { metadata }), signal);
}

const hasFinalizer = ({ controlPlane }: ControlPlaneView): boolean =>
  controlPlane.metadata.finalizers?.includes(ownNames.finalizer) === true;

/**
 * The finalizer stays until the last Machine is gone: otherwise core would keep the Machines for
 * ever.
 */
async function end(pass: Pass, signal: AbortSignal): Promise<boolean> {
  const view = await readAgain(pass, signal);
  if (view === undefined || view.isPaused || !view.isDeleting) return false;
  for (const { machine, isDeleting } of view.hosts)
    if (!isDeleting) await removeMachine(pass, machine, signal);
  if (view.hosts.length > 0 || !hasFinalizer(view)) return false;
  const { finalizers = [] } = view.controlPlane.metadata;
  const others = finalizers.filter((one) => one !== ownNames.finalizer);
  await setMetadata({ ...pass, view }, { finalizers: others }, signal);
  return true;
}

async function removeMachine(
  { kube, note }: Pass,
  machine: Machine,
  signal: AbortSignal,
): Promise<void> {
  const { name, uid } = machine.metadata;
  await kube.remove({ ...refTo(capiMachines, machine), uid }, signal);
  note('info', `Machine ${name} is being deleted`);
}

/** Whether to replace expired files. A host that has reported may have used them already. */
const areUnused = ({ isPaused, isDeleting, areAssetsExpired, hosts }: ControlPlaneView): boolean =>
  !isPaused && !isDeleting && areAssetsExpired && hosts.every(({ stage }) => stage === '');

async function removeAssets(pass: Pass, signal: AbortSignal): Promise<void> {
  const view = await readAgain(pass, signal);
  if (view?.assets === undefined || !areUnused(view)) return;
  const { name, uid } = view.assets.metadata;
  await pass.kube.remove({ ...refTo(secrets, view.assets), uid }, signal);
  pass.note('info', `Secret ${name} has expired, and is made again`);
}

/**
 * The next Machine: first the bootstrap host, then the others once they can join it. One at a time,
 * as the failure domain of each depends on the Machines before it. Its name depends on the existing
 * Machines, so a late view does not lead to a second one.
 */
function dueMachine(view: ControlPlaneView): NewMachine | undefined {
  const { controlPlane, cluster, hosts, replicas, isBootstrapReady } = view;
  const mayCreate =
    !view.areAssetsExpired && view.isInfrastructureReady && view.hasAssets && !view.isBootstrapLost;
  const isBootstrap = view.bootstrap === undefined && !isBootstrapReady;
  const isMissing = hosts.length < replicas && (isBootstrap || isBootstrapReady);
  if (cluster === undefined || !mayCreate || !isMissing) return undefined;
  const taken = new Set(hosts.map(({ machine }) => machine.metadata.name));
  let index = 0;
  while (taken.has(machineName(controlPlane, index))) index += 1;
  const domains = hosts.map(({ machine }) => machine.spec.failureDomain);
  return {
    controlPlane,
    cluster,
    name: machineName(controlPlane, index),
    isBootstrap,
    failureDomain: leastUsedDomain(cluster, domains),
    remediationFor: toBeFollowed(view),
  };
}

/** Creates the Machine last: another attempt then reuses the objects of an earlier one. */
async function createMachine(pass: Pass, signal: AbortSignal): Promise<void> {
  const { template, kube, note } = pass;
  if (template === undefined || dueMachine(pass.view) === undefined) return;
  // The infrastructure writes the disk of a host for it.
  const view = await activeAgain(pass, signal);
  const machine = view && dueMachine(view);
  if (machine === undefined) return;
  const { apiVersion, kind } = template.machine;
  const clone = { ...cloneOf(machine, template.template), apiVersion };
  await createOwned(kube, machine.controlPlane, kind, clone, signal);
  await createOwned(kube, machine.controlPlane, bootstrapConfigs, configOf(machine), signal);
  await createOwned(kube, machine.controlPlane, capiMachines, machineOf(machine), signal);
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
  // The manager in `metadata.managedFields`.
  const manager = 'bootwright-control-plane';
  await kube.apply(manifest, signal, { manager, subresource: 'status' });
}

/** Deletes a marked Machine if it may still be replaced by objects read again. */
async function removeMarked(pass: Pass, machine: Machine, signal: AbortSignal): Promise<void> {
  const { clock, guest } = pass;
  const view = await readAgain(pass, signal);
  const masters = guest && { ...guest, ...(await readMasters(guest.kube, clock, signal)) };
  const remove = view && remediations(view, masters).remove;
  if (remove?.metadata.uid === machine.metadata.uid) await removeMachine(pass, machine, signal);
}

/**
 * A MachineHealthCheck and core write the same list, so the API server refuses the write if the
 * list has changed since.
 */
async function reportRemediation(
  { kube, clock, note }: Pass,
  { machine, check }: Remediations['reports'][number],
  signal: AbortSignal,
): Promise<void> {
  const before = machine.status?.conditions ?? [];
  const conditions =
    check === undefined
      ? before.filter(({ type }) => type !== ownerRemediated)
      : withConditions(before, { [ownerRemediated]: check }, clock.now(), undefined);
  const patch = patchOf(machine, { status: { conditions } }, 'status');
  await kube.patch(refTo(capiMachines, machine), patch, signal);
  if (check === undefined) return;
  const { reason, message: why = '' } = check;
  const { name } = machine.metadata;
  note('info', `Machine ${name} is to be replaced, and is not yet`, { reason, why });
}

/** Turns the state of a node into the progress of its host, by the rules for any report. */
async function reportNode(
  { kube, clock, note, view: { controlPlane } }: Pass,
  { config, machine, stage }: NodeReport,
  signal: AbortSignal,
): Promise<void> {
  const ladder = hostLadder({ machine, controlPlane });
  const change: Parameters<typeof writeStatus>[2] = (before) => {
    const now = clock.now();
    const context = { ladder, now, isOwn: false };
    const { progress } = decideProgress(before.status?.progress, { stage, info: '' }, context);
    return progress && statusAfter(before, { progress }, now);
  };
  await writeStatus(kube, config, change, signal);
  note('info', `the node of ${config.metadata.name} is there`, { stage });
}

/**
 * Stores the config servers' authority with the files of the installer, from which the bootstrap
 * provider makes the Ignition of hosts. The bootstrap host's config server has the installer's
 * authority to its end.
 */
async function trustConfigServer(
  { kube, note, view: { assets, hasAssets, isBootstrapComplete } }: Pass,
  { configServerCa: ca }: GuestView,
  signal: AbortSignal,
): Promise<void> {
  if (ca === undefined || !isBootstrapComplete || !hasAssets || assets === undefined) return;
  // The informer has only metadata, so a hash in an annotation identifies the authority in the
  // Secret.
  const hash = createHash('sha256').update(ca).digest('hex');
  if (assets.metadata.annotations?.[ownNames.configServerCaHash] === hash) return;
  const patch = patchOf(assets, {
    metadata: { annotations: { [ownNames.configServerCaHash]: hash } },
    data: secretData({ [assetKeys.configServerCa]: ca }),
  });
  await kube.patch(refTo(secrets, assets), patch, signal);
  note('info', `Secret ${assets.metadata.name} has the new authority of the config servers`);
}

/** The cluster-version operator decides whether it accepts the update; nothing is ever forced. */
async function upgrade(
  pass: Pass,
  { kube, clusterVersion }: GuestView,
  signal: AbortSignal,
): Promise<void> {
  if (clusterVersion === undefined || pass.upgrade.update === undefined) return;
  const view = await activeAgain(pass, signal);
  const update = view && upgradeOf(view.controlPlane, clusterVersion).update;
  if (update === undefined) return;
  // An earlier update may have named an architecture, which the API refuses beside an image.
  const desiredUpdate = { ...update, architecture: null };
  const patch = patchOf(clusterVersion, { spec: { desiredUpdate } });
  await kube.patch({ kind: clusterVersions, name: 'version' }, patch, signal);
  pass.note('info', 'an upgrade is requested', { version: update.version, image: update.image });
}

/** Reads a request and the nodes again right before the approval. */
async function approve(
  { clock, note, view }: Pass,
  { kube, installConfig }: GuestView,
  { claim, metadata: { name, uid } }: ReadRequest,
  signal: AbortSignal,
): Promise<void> {
  if (claim === undefined) return;
  const ref = { kind: certificateSigningRequests, name };
  // Another node may have the addresses of the request by now.
  const [found, all] = await Promise.all([
    kube.get(ref, signal),
    kube.list({ kind: nodes }, signal),
  ]);
  if (found?.metadata.uid !== uid || found === undefined) return;
  const now = { nodes: all, requests: [found], installConfig };
  if (approvals(view, now).length === 0) return;
  const reason = 'NodeCSRApprove';
  const message = 'This CSR was approved by the Bootwright control-plane provider';
  const next = approved(found, { reason, message, at: clock.now() });
  await kube.replace(ref, next, { subresource: 'approval', signal });
  note('info', `certificate request ${name} is approved`, { node: claim.node });
}

/**
 * Publishes the kubeconfig of the Cluster (Cluster API contract). It is the installer's kubeconfig,
 * whose certificate is valid for ten years.
 */
async function publishKubeconfig({ kube, note, view }: Pass, signal: AbortSignal): Promise<void> {
  const { controlPlane, cluster } = view;
  if (cluster === undefined || view.kubeconfig !== undefined) return;
  const kubeconfig = await readAsset(kube, view, assetKeys.kubeconfig, signal);
  if (kubeconfig === undefined) return;
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
    data: secretData({ value: kubeconfig }),
  };
  await createOwned(kube, controlPlane, secrets, secret, signal);
  note('info', `the API of Cluster ${name} answers`);
}

/** Creates an object, or finds that the same owner created it before. */
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
