import { approved } from '../../cluster/csr/read-request.ts';
import { certificateSigningRequests, clusterVersions, nodes, secrets } from '../../kube/kinds.ts';
import { wholeSeconds } from '../../model/duration.ts';
import { failuresOf, type FailureTable } from '../../model/failure.ts';
import type { Kube, KubeKind, KubeObject } from '../../ports/kube.ts';
import { isForbidden } from '../../ports/kube-failures.ts';
import type { Ports } from '../../ports/ports.ts';
import type { ActionTable } from '../../kube/actions.ts';
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
  machineType,
  type OpenShiftControlPlane,
  type OwnedMetadata,
  ownNames,
} from '../api.ts';
import { type CheckResult, withConditions, wrong } from '../conditions.ts';
import { decideProgress, statusAfter, writeStatus } from '../bootstrap/status.ts';
import { hostLadder } from '../bootstrap/stores.ts';
import { contractKind, type ContractKind, createOnce, refTo, secretData } from '../objects.ts';
import { type ControlPlaneAction, hashOf, type Seen, upgradeOf } from './decide.ts';
import { configServerAuthority, configServerCaIn, type Guest } from './guest.ts';
import { approvals } from './guest-hosts.ts';
import { clonedKind, cloneOf, configOf, machineOf, ownerOf } from './machines.ts';
import { ownerRemediated } from './remediate.ts';
import { readAsset } from './view.ts';

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

/** An infrastructure template with the kind of what is made of it. */
export interface UsableTemplate {
  readonly template: KubeObject;
  readonly machine: ContractKind;
}

/**
 * Reads the infrastructure template of a control plane; a finding where nothing can be made of it.
 */
export async function readTemplate(
  kube: Pick<Kube, 'get'>,
  { metadata: { namespace = '' }, spec }: OpenShiftControlPlane,
  signal: AbortSignal,
): Promise<UsableTemplate | CheckResult> {
  const { apiGroup, kind, name } = spec.machineTemplate.spec.infrastructureRef;
  const [ofTemplate, machine] = await Promise.all([
    contractKind(kube, { apiGroup, kind }, signal),
    contractKind(kube, { apiGroup, kind: clonedKind(kind) }, signal),
  ]);
  if (ofTemplate === undefined || machine === undefined || !kind.endsWith('Template')) {
    const message = `no infrastructure provider has the kind ${kind} of ${apiGroup}; install the provider, ${orAnother}`;
    return wrong('TemplateKindNotFound', message);
  }
  try {
    const ref = { kind: ofTemplate.kind, namespace, name };
    const template = await kube.get(ref, signal, { denials: 'final' });
    return template === undefined
      ? wrong('TemplateNotFound', `${kind} ${name} is not there; make it, ${orAnother}`)
      : { template: { ...template, apiVersion: ofTemplate.apiVersion }, machine };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const kinds = [ofTemplate, machine].map((one) => one.kind.plural).join(' and ');
    const message = `the ServiceAccount of the provider may not read ${kind} ${name}; let it get and create ${kinds} of ${apiGroup}, ${orAnother}`;
    return wrong('TemplateForbidden', message);
  }
}

/** A reference cannot be changed. */
const orAnother = 'or delete the Cluster and start again with another infrastructureRef';

/** On what an action works: as it was read right before. */
interface Place extends ControlPlaneScope, Seen {
  /** The cluster that is installed, where it is followed. */
  readonly followed: Guest | undefined;
}

async function setMetadata(
  { kube, view: { controlPlane } }: Place,
  metadata: object,
  signal: AbortSignal,
): Promise<void> {
  const patch = patchOf(controlPlane, { metadata });
  await kube.patch(refTo(controlPlanes, controlPlane), patch, signal);
}

const finalizersOf = ({ view: { controlPlane } }: Place): readonly string[] =>
  controlPlane.metadata.finalizers ?? [];

/** How each action is done. */
export const controlPlaneActions: ActionTable<ControlPlaneAction, Place> = {
  'add-finalizer': (_, signal, place) =>
    setMetadata(place, { finalizers: [...finalizersOf(place), ownNames.finalizer] }, signal),
  'remove-finalizer': (_, signal, place) => {
    const finalizers = finalizersOf(place).filter((one) => one !== ownNames.finalizer);
    return setMetadata(place, { finalizers }, signal);
  },
  'record-remediation': ({ record }, signal, place) =>
    setMetadata(place, { annotations: { [ownNames.remediation]: record } }, signal),
  'delete-machine': async ({ target, machine }, signal, { kube, note }) => {
    const { uid } = machine.metadata;
    await kube.remove({ ...refTo(capiMachines, machine), uid }, signal);
    note('info', `Machine ${target} is being deleted`);
  },
  'remove-assets': async (_, signal, { kube, note, view: { assets } }) => {
    if (assets === undefined) return;
    const { name, uid } = assets.metadata;
    await kube.remove({ ...refTo(secrets, assets), uid }, signal);
    note('info', `Secret ${name} does not fit any more, and is made again`);
  },
  // The Machine is made last: what is there of one before is taken when it is made again.
  'create-machine': async (
    { machine },
    signal,
    { kube, note, view: { controlPlane, cluster } },
  ) => {
    const found = await readTemplate(kube, controlPlane, signal);
    if (!('template' in found))
      throw controlPlaneFailure('control-plane.no-template', found.message ?? found.reason);
    if (cluster === undefined) return;
    const made = { controlPlane, cluster };
    const { apiVersion, kind } = found.machine;
    const objects: readonly (readonly [KubeKind, KubeObject])[] = [
      [kind, { ...cloneOf(made, machine, found.template), apiVersion }],
      [bootstrapConfigs, configOf(made, machine)],
      [capiMachines, machineOf(made, machine)],
    ];
    const create = createOwned(kube, controlPlane);
    for (const [kind, object] of objects) await create(kind, object, signal);
    const role = machine.isBootstrap ? 'bootstrap host' : 'master';
    note('info', `Machine ${machine.name} is made`, { role });
  },
  // Core writes conditions of a Machine too, so each writer applies its own (Cluster API contract,
  // `UpToDate`).
  'mark-up-to-date': async ({ machine }, signal, { kube, clock }) => {
    const { name, namespace = '', uid = '' } = machine.metadata;
    const lastTransitionTime = wholeSeconds(clock.now());
    const type = { type: 'UpToDate', status: 'True', reason: 'UpToDate', message: '' };
    const manifest = {
      ...machineType,
      metadata: { name, namespace, uid },
      status: { conditions: [{ ...type, lastTransitionTime }] },
    };
    const options = { manager: fieldManager, subresource: 'status' };
    await kube.apply(manifest, signal, options);
  },
  // A MachineHealthCheck and core write the same list: it is refused where it has changed since.
  'report-remediation': async ({ machine, condition }, signal, { kube, clock, note }) => {
    const before = machine.status?.conditions ?? [];
    const conditions =
      condition === undefined
        ? before.filter(({ type }) => type !== ownerRemediated)
        : withConditions(before, [condition], { now: clock.now(), generation: undefined });
    const patch = patchOf(machine, { status: { conditions } }, 'status');
    await kube.patch(refTo(capiMachines, machine), patch, signal);
    if (condition === undefined) return;
    const { reason, message: why = '' } = condition;
    const what = `Machine ${machine.metadata.name} is to be replaced, and is not yet`;
    note('info', what, { reason, why });
  },
  // What a node shows becomes the progress of its host, by the rules of any report.
  'report-node': async ({ config, machine, stage }, signal, { kube, clock, note, view }) => {
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
  },
  // The provider that makes the Ignition of hosts finds it among the files of the installer.
  'trust-config-server': async (_, signal, { kube, note, followed, view: { assets } }) => {
    const ca = configServerCaIn(await followed?.kube.get(configServerAuthority, signal));
    if (assets === undefined || ca === undefined) return;
    const patch = patchOf(assets, {
      metadata: { annotations: { [ownNames.configServerCaHash]: hashOf(ca) } },
      data: secretData({ [assetKeys.configServerCa]: ca }),
    });
    await kube.patch(refTo(secrets, assets), patch, signal);
    note('info', `Secret ${assets.metadata.name} has the new authority of the config servers`);
  },
  // Its own operator decides whether it takes the update: nothing is ever forced.
  upgrade: async (_, signal, { note, followed, view: { controlPlane } }) => {
    const ref = { kind: clusterVersions, name: 'version' };
    const clusterVersion = await followed?.kube.get(ref, signal);
    const { update } = upgradeOf(controlPlane, clusterVersion);
    if (followed === undefined || clusterVersion === undefined || update === undefined) return;
    const patch = patchOf(clusterVersion, { spec: { desiredUpdate: update } });
    await followed.kube.patch(ref, patch, signal);
    note('info', 'an upgrade is requested', { version: update.version, image: update.image });
  },
  // A request is read again, with its node, right before it is approved.
  'approve-request': async ({ request }, signal, { clock, note, followed, view }) => {
    const { claim, metadata } = request;
    if (followed === undefined || claim === undefined) return;
    const { name, uid } = metadata;
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
  },
  'record-bootstrap': (_, signal, place) =>
    setMetadata(place, { annotations: { [ownNames.bootstrapComplete]: '' } }, signal),
  'publish-kubeconfig': async (_, signal, { kube, note, view }) => {
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
    await createOwned(kube, controlPlane)(secrets, object, signal);
    note('info', `the API of Cluster ${cluster.metadata.name} answers`);
  },
};

const approval = {
  reason: 'NodeCSRApprove',
  message: 'This CSR was approved by the Bootwright control-plane provider',
};

/** Makes an object, or finds that it was made by the same owner before. */
const createOwned =
  (
    kube: Pick<Kube, 'create' | 'get'>,
    { metadata: { namespace = '', uid } }: OpenShiftControlPlane,
  ) =>
  async (kind: KubeKind, object: KubeObject, signal: AbortSignal): Promise<void> => {
    if (await createOnce(kube, kind, object, signal)) return;
    const { name } = object.metadata;
    const there = await kube.get({ kind, namespace, name }, signal);
    const { ownerReferences = [], deletionTimestamp }: Partial<OwnedMetadata> =
      there?.metadata ?? {};
    const isOwn = ownerReferences.some((owner) => owner.uid === uid);
    if (isOwn && deletionTimestamp === undefined) return;
    const what = `${object.kind ?? ''} ${name} is there, and is not of this control plane`;
    throw controlPlaneFailure('control-plane.name-taken', what);
  };

/**
 * The kubeconfig of a Cluster (Cluster API contract): that of the installer, whose certificate
 * lasts ten years.
 */
export const kubeconfigSecret = (
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
