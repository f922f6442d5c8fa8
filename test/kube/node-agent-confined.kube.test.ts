// Limits of a node agent's token on a real API server with deploy/layering applied: it can write
// only the agent's annotations on its own node.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { KubeRefusal, openTransport, type Transport } from '../../mocks/kube/transport.ts';
import { startRig } from '../../scripts/api-server.ts';
import { clusterRoleBindings, namespaces, nodes, serviceAccounts } from '../../src/kube/kinds.ts';
import { nodeKeys } from '../../src/layering/api/node-keys.ts';
import { operatorNamespace as namespace } from '../../src/layering/manifests/bootstrap-manifests.ts';
import { agentName } from '../../src/controllers/node/manifests.ts';
import { deploy } from './new-cluster.ts';
import { until } from './pivoted-cluster.ts';
import {
  agentAccess,
  clusterRoles,
  nodeOf,
  serviceAccountOf,
  transportOf,
} from './cluster-access.ts';

const [own, other] = ['w0', 'm0'];
const desired = { [nodeKeys.desiredImage]: 'evil', [nodeKeys.lastAppliedDrain]: 'drain-x' };
const ours = { [nodeKeys.state]: 'Working', [nodeKeys.desiredDrain]: 'drain-x' };

let rig: Rig;
const open: Transport[] = [];
let agent: Transport;
let unbound: Transport;

const patch = (name: string, body: unknown, { type = 'merge-patch+json', more = '' } = {}) => ({
  ...({ method: 'PATCH', path: `/api/v1/nodes/${name}${more}` } as const),
  body,
  contentType: `application/${type}`,
});
const annotate = (name: string, annotations: object) => patch(name, { metadata: { annotations } });

/** Changes nothing while a policy is not yet in effect. */
const canary = patch(other, { metadata: { labels: { x: 'y' } } }, { more: '?dryRun=All' });

/** The status of the answer, and the source of the refusal. */
async function send(
  { send: sendOne }: Transport,
  request: Parameters<Transport['send']>[0],
): Promise<readonly [number, string]> {
  try {
    const response = await sendOne(request);
    await response.text();
    return [response.status, ''];
  } catch (error) {
    if (!(error instanceof KubeRefusal)) throw error;
    return [error.status, /ValidatingAdmissionPolicy '([^']+)'/.exec(error.message)?.[1] ?? ''];
  }
}
const refused = [403, agentName];

beforeAll(async () => {
  rig = await startRig({ crds: [] });
  await rig.client.apply(namespaces, {
    apiVersion: 'v1',
    kind: 'Namespace',
    metadata: { name: namespace },
  });
  await rig.client.apply(serviceAccounts, serviceAccountOf('default'));
  await deploy(rig.client, 'layering');
  for (const name of [own, other]) {
    const annotations = {
      kept: 'a',
      [nodeKeys.desiredConfig]: 'c1',
      [nodeKeys.lastAppliedDrain]: 'drain-c1',
    };
    const labels = { 'node-role.kubernetes.io/worker': '' };
    await rig.client.apply(nodes, { ...nodeOf(name), metadata: { name, annotations, labels } });
  }
  // The policy holds even if the account gets more permissions.
  await rig.client.apply(clusterRoles, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'all-of-core' },
    rules: [{ apiGroups: [''], resources: ['*'], verbs: ['*'] }],
  });
  await rig.client.apply(clusterRoleBindings, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'all-of-core' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'all-of-core' },
    subjects: [{ kind: 'ServiceAccount', name: agentName, namespace }],
  });
  const account = { namespace, serviceAccount: agentName };
  for (const kubeconfig of [
    await agentAccess(rig, own),
    await rig.kubeconfigFor({ user: account }),
  ])
    open.push(openTransport(transportOf(kubeconfig)));
  [agent, unbound] = open as [Transport, Transport];
  await until(async () => (await send(agent, canary))[0] === 403);
});
afterAll(async () => {
  for (const one of open) await one.close();
  await rig.close();
});

describe('the token of a node agent', () => {
  it('can write and remove the agent annotations of its own node', async () => {
    expect(await send(agent, annotate(own, ours))).toEqual([200, '']);
    const none = Object.fromEntries(Object.keys(ours).map((key) => [key, null]));
    expect(await send(agent, annotate(own, none))).toEqual([200, '']);
  });

  it.each<[string, () => Parameters<Transport['send']>[0]]>([
    ['writing agent annotations of another node', () => annotate(other, ours)],
    ['writing the desired state of another node', () => annotate(other, desired)],
    ['writing the desired state of its own node', () => annotate(own, desired)],
    [
      'confirming a drain of its own node',
      () => annotate(own, { [nodeKeys.lastAppliedDrain]: 'x' }),
    ],
    ['removing a drain confirmation', () => annotate(own, { [nodeKeys.lastAppliedDrain]: null })],
    ['changing another annotation', () => annotate(own, { kept: 'b' })],
    ['removing another annotation', () => annotate(own, { kept: null })],
    ['removing all annotations', () => patch(own, { metadata: { annotations: null } })],
    ['adding a label', () => patch(own, { metadata: { labels: { x: 'y' } } })],
    ['removing all labels', () => patch(own, { metadata: { labels: null } })],
    ['adding a finalizer', () => patch(own, { metadata: { finalizers: ['x.io/y'] } })],
    ['cordoning', () => patch(own, { spec: { unschedulable: true } })],
    ['removing taints', () => patch(own, { spec: { taints: null } })],
    ['removing taints of another node', () => patch(other, { spec: { taints: null } })],
    [
      'adding labels by JSON patch',
      () =>
        patch(own, [{ op: 'add', path: '/metadata/labels/x', value: 'y' }], {
          type: 'json-patch+json',
        }),
    ],
    [
      'adding labels by strategic merge patch',
      () =>
        patch(own, { metadata: { labels: { x: 'y' } } }, { type: 'strategic-merge-patch+json' }),
    ],
    [
      'adding labels by server-side apply',
      () =>
        patch(own, JSON.stringify({ ...nodeOf(own), metadata: { labels: { x: 'y' } } }), {
          type: 'apply-patch+yaml',
          more: '?fieldManager=bootwright-node-controller&force=true',
        }),
    ],
    ['writing its status', () => patch(own, { status: { phase: 'Running' } }, { more: '/status' })],
    ['writing the status of another node', () => patch(other, { status: {} }, { more: '/status' })],
    ['creating a node', () => ({ method: 'POST', path: '/api/v1/nodes', body: nodeOf('m9') })],
    ['deleting its node', () => ({ method: 'DELETE', path: `/api/v1/nodes/${own}` })],
    ['deleting all nodes', () => ({ method: 'DELETE', path: '/api/v1/nodes' })],
    [
      'replacing a node',
      () => ({ method: 'PUT', path: `/api/v1/nodes/${other}`, body: nodeOf(other) }),
    ],
    [
      'running a command on a node',
      () => ({ method: 'POST', path: `/api/v1/nodes/${other}/proxy/run/x` }),
    ],
  ])('is refused: %s', async (_, request) => {
    expect(await send(agent, request())).toEqual(refused);
  });

  it('is refused everything without a bound pod', async () => {
    expect(await send(unbound, annotate(own, ours))).toEqual(refused);
  });

  it('has changed nothing after these requests', async () => {
    const all = await rig.client.list({ kind: nodes });
    expect(
      all.map(({ metadata: { name, annotations, labels }, spec }) => ({
        name,
        annotations,
        labels,
        spec,
      })),
    ).toEqual(
      [other, own].map((name) => ({
        name,
        annotations: {
          kept: 'a',
          [nodeKeys.desiredConfig]: 'c1',
          [nodeKeys.lastAppliedDrain]: 'drain-c1',
        },
        labels: { 'node-role.kubernetes.io/worker': '' },
        spec: { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] },
      })),
    );
  });
});
