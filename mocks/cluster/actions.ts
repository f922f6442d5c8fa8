// Performs the actions of a cluster, on its API server and on the bootstrap host.
import { appendFile, writeFile } from 'node:fs/promises';
import type { KubeObject, KubeRef } from '../../src/ports/kube.ts';
import { placeFor } from '../host/files.ts';
import { askerOf, configRequestLine, configServerLog, requestObject } from './kubelet.ts';
import type { Action, Purpose } from './cluster-state.ts';
import { endProgress } from './bootstrap-units.ts';
import { controllerJobOf } from './controller-pod.ts';
import { etcdConditions, type EtcdProgress, memberHosts } from './etcd.ts';
import { annotateNode, desireConfig, reachConfig, renderOnce } from './machine-configs.ts';
import { objectIn } from './object-files.ts';
import { firstObjects, kindOf, kinds, nodeObject } from './objects.ts';
import { awaitRelease, renderOnBootstrap } from './layering/config-server.ts';
import { firstBoot } from './layering/node.ts';
import { startOperator } from './layering/operator.ts';
import { createPools, renderPools } from './layering/run-controllers.ts';
import type { LayeredSite } from '../layering/plan.ts';
import { applyManifests } from './manifests.ts';
import {
  operatorNames,
  operatorObject,
  operatorStatus,
  stepOf,
  versionStatus,
} from './operators.ts';
import { createPki, type KubeUser } from '../kube/pki.ts';
import { forgedRequests } from './forged.ts';
import {
  controllerJob,
  controllerPod,
  runningStatus,
  unpulledEvent,
  unpulledStatus,
} from './pods.ts';
import { type ClusterWork, memberNamed, reportNode, reportPod } from './site.ts';

type Work<Kind extends Action['kind']> = (
  work: ClusterWork,
  action: Extract<Action, { kind: Kind }>,
) => void | Promise<void>;

const actions: { readonly [Kind in Exclude<Action['kind'], 'later'>]: Work<Kind> } = {
  'open-api': async (work) => {
    const objects = firstObjects(work.plan, work.invoker);
    const isNamespace = ({ kind }: KubeObject): boolean => kind === 'Namespace';
    await applyAll(work, objects.filter(isNamespace));
    if (work.layered !== undefined) await createPools(work);
    await applyManifests(work);
    await applyAll(
      work,
      objects.filter((one) => !isNamespace(one)),
    );
    work.kube.forwarder.moveTo(work.kube.api, 'reset');
    // The server takes seconds to start, and nothing has to wait for it.
    if (work.plan.apiMoves) work.finalServer().catch(() => undefined);
  },
  'render-on-bootstrap': (work) => renderOnBootstrap(work, layeredOf(work)),
  'await-release': awaitRelease,
  'first-boot': (work, { host }) => firstBoot(work, layeredOf(work), host),
  'render-pools': async (work) => {
    await startOperator(work);
    await (work.layered === undefined ? renderOnce(work) : renderPools(work, work.layered));
  },
  'log-request': (work, { host }) => logRequest(work, host),
  'note-request': noteRequest,
  'ask-certificate': (work, { host, purpose }) => askCertificate(work, host, purpose),
  'add-node': async (work, { host }) => {
    const member = memberNamed(work, host);
    await work.kube.client.apply(kinds.Node, nodeObject(member, await member.providerID?.()));
    await reportNode(work, host, false);
  },
  'annotate-node': annotateNode,
  'desire-config': desireConfig,
  'reach-config': reachConfig,
  'make-ready': async (work, { host }) => {
    await reportNode(work, host, true);
    await work.kube.client.merge(nodeRef(host), { spec: { taints: null } });
    await reportEtcd(work);
  },
  'end-bootkube': async (work) => {
    await reportEtcd(work);
    await writeFile(placeFor(work.bootstrap.files, '/opt/openshift/.bootkube.done'), '');
    work.bootstrap.units.become('bootkube.service', 'inactive');
  },
  'move-api': async ({ kube, finalServer }) => {
    kube.forwarder.moveTo(await finalServer(), 'lost');
    // Clients get no notice, as when a host releases an address.
    await kube.api.kill();
  },
  'refuse-admins': ({ kube }, { isRefused }) => kube.refuseAdmins(isRefused),
  'complete-bootstrap': async (work) => {
    await work.kube.client.apply(kinds.ConfigMap, objectIn('complete'));
    await endProgress(work);
  },
  'remove-member': async (work) => {
    await reportEtcd(work, 'removed');
    await reportEtcd(work);
  },
  'fail-pull': failPull,
  'start-controller': (work) => work.startController(),
  'forge-requests': forgeRequests,
  'report-operators': reportOperators,
  // Delays only the end of a wait in which a fault is still to strike.
  mark: () => undefined,
};

function layeredOf({ layered }: ClusterWork): LayeredSite {
  if (layered === undefined) throw new TypeError('nothing is built for this cluster');
  return layered;
}

async function applyAll({ kube }: ClusterWork, objects: readonly KubeObject[]): Promise<void> {
  for (const object of objects) await kube.api.client.apply(kindOf(object), object);
}

/** Performs one action. */
export async function perform(
  work: ClusterWork,
  action: Exclude<Action, { kind: 'later' }>,
): Promise<void> {
  const run = actions[action.kind] as Work<Action['kind']>;
  await run(work, action);
}

const nodeRef = (name: string): KubeRef => ({ kind: kinds.Node, name });

function requestLine(work: ClusterWork, host: string): string {
  const member = memberNamed(work, host);
  const form = work.members.indexOf(member);
  // Hosts send requests from any of their addresses.
  const address = member.addresses[form % member.addresses.length] ?? '192.0.2.1';
  return configRequestLine({ pool: member.role, address, at: new Date(), form });
}

/** A host requests its config from a master; the log of that pod has the request. */
async function noteRequest(
  work: ClusterWork,
  { host }: Extract<Action, { kind: 'note-request' }>,
): Promise<void> {
  const [node] = readyMasters(work);
  if (node === undefined) return;
  const pod = objectIn('config-server-pod', { node });
  const { name } = pod.metadata;
  await work.kube.client.apply(kinds.Pod, pod);
  await reportPod(work, pod, runningStatus(pod, new Date()));
  const text = `${work.logs.get(name)?.() ?? ''}${requestLine(work, host)}`;
  work.logs.set(name, () => text);
}

async function logRequest(work: ClusterWork, host: string): Promise<void> {
  const line = requestLine(work, host);
  const { files } = work.bootstrap;
  await appendFile(placeFor(files, `/var/log/containers/${configServerLog}`), line);
}

const readyMasters = ({ plan, state }: ClusterWork): readonly string[] =>
  memberHosts(plan, state());

const phaseOf = ({ state }: ClusterWork): EtcdProgress['phase'] => {
  if (state().isHandedOver) return 'removed-before';
  return state().isBootkubeDone ? 'running' : 'starting';
};

async function reportEtcd(work: ClusterWork, phase = phaseOf(work)): Promise<void> {
  const { client } = work.kube;
  const masters = readyMasters(work);
  for (const node of masters) {
    const pod = objectIn('etcd-pod', { node });
    await client.apply(kinds.Pod, pod);
    await reportPod(work, pod, runningStatus(pod, new Date()));
  }
  const hasRemovalCondition = !work.plan.needsEtcdOverride;
  const progress = { members: masters.length, phase, hasRemovalCondition };
  const conditions = etcdConditions(progress, new Date());
  await client.mergeStatus({ kind: kinds.Etcd, name: 'cluster' }, { conditions });
}

async function askCertificate(work: ClusterWork, node: string, purpose: Purpose): Promise<void> {
  const { addresses } = memberNamed(work, node);
  const request = { node, addresses, purpose };
  await askAs(work, askerOf(request), await requestObject(request));
}

async function askAs({ kube }: ClusterWork, user: KubeUser, request: KubeObject): Promise<void> {
  const client = await kube.clientAs(user);
  try {
    await client.create(kinds.CertificateSigningRequest, request);
  } finally {
    await client.close();
  }
}

async function forgeRequests(work: ClusterWork): Promise<void> {
  const { members } = work;
  const joined = members.find(({ isBootstrap }) => !isBootstrap);
  const open = members.find(({ isBootstrap }) => isBootstrap);
  if (joined === undefined || open === undefined) return;
  for (const { by, object } of await forgedRequests(joined, open)) await askAs(work, by, object);
}

/** A master gets the controller's pod, but its kubelet cannot pull the image and retries. */
async function failPull(work: ClusterWork): Promise<void> {
  const pod = await putController(work);
  if (pod === undefined) return;
  for (const reason of ['ErrImagePull', 'ImagePullBackOff'] as const) {
    await reportPod(work, pod, unpulledStatus(pod, reason, new Date()));
  }
  await work.kube.client.apply(kinds.Event, unpulledEvent(pod, new Date()));
}

async function putController(work: ClusterWork): Promise<KubeObject | undefined> {
  const job = await controllerJobOf(work);
  const [node] = readyMasters(work);
  if (job === undefined || node === undefined) {
    work.complain(`there is no job ${controllerJob} in the cluster`);
    return undefined;
  }
  const pod = controllerPod(job, { node, count: 1 });
  await work.kube.client.apply(kinds.Pod, pod);
  return pod;
}

/** The operators report their progress; with ingress come its certificates. */
async function reportOperators(
  { kube: { client }, plan: { version, stuckOperator: stuck } }: ClusterWork,
  { step }: Extract<Action, { kind: 'report-operators' }>,
): Promise<void> {
  const at = new Date();
  for (const name of operatorNames) {
    await client.apply(kinds.ClusterOperator, operatorObject(name));
    const ref = { kind: kinds.ClusterOperator, name };
    await client.mergeStatus(ref, operatorStatus(name, { step, stuck, version, at }));
  }
  const ref = { kind: kinds.ClusterVersion, name: 'version' };
  await client.replaceStatus(ref, versionStatus({ step, stuck, version, at }));
  if (step !== stepOf('ingress')) return;
  const certificate = JSON.stringify((await createPki()).serving.certificate);
  await client.apply(kinds.ConfigMap, objectIn('ingress', { certificate }));
}
