// Limits of a node agent's token on a real API server, with deploy/layering applied: it writes the
// agent's own annotations on its own node.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { KubeRefusal, openTransport, type Transport } from '../../mocks/kube/transport.ts';
import { startRig } from '../../scripts/rig.ts';
import { clusterRoleBindings, namespaces, nodes, serviceAccounts } from '../../src/kube/kinds.ts';
import { nodeKeys } from '../../src/layering/api/node-keys.ts';
import { operatorNamespace as namespace } from '../../src/layering/manifests/bootstrap-manifests.ts';
import { agentName } from '../../src/controllers/node/permissions.ts';
import { deploy } from './new-cluster.ts';
import { until } from './pivoted-cluster.ts';
import { agentAccess, clusterRoles, nodeOf, serviceAccountOf, transportOf } from './rig.ts';

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
  it('writes and removes the annotations of agents of its own node', async () => {
    expect(await send(agent, annotate(own, ours))).toEqual([200, '']);
    const none = Object.fromEntries(Object.keys(ours).map((key) => [key, null]));
    expect(await send(agent, annotate(own, none))).toEqual([200, '']);
  });

  it.each<[string, () => Parameters<Transport['send']>[0]]>([
    ['annotations of agents of another node', () => annotate(other, ours)],
    ['what another node should have', () => annotate(other, desired)],
    ['what its own node should have', () => annotate(own, desired)],
    ['that its own node was drained', () => annotate(own, { [nodeKeys.lastAppliedDrain]: 'x' })],
    ['a drain away', () => annotate(own, { [nodeKeys.lastAppliedDrain]: null })],
    ['an annotation of others', () => annotate(own, { kept: 'b' })],
    ['an annotation of others away', () => annotate(own, { kept: null })],
    ['all annotations away', () => patch(own, { metadata: { annotations: null } })],
    ['a label', () => patch(own, { metadata: { labels: { x: 'y' } } })],
    ['all labels away', () => patch(own, { metadata: { labels: null } })],
    ['a finalizer', () => patch(own, { metadata: { finalizers: ['x.io/y'] } })],
    ['a cordon', () => patch(own, { spec: { unschedulable: true } })],
    ['taints away', () => patch(own, { spec: { taints: null } })],
    ['taints of another node', () => patch(other, { spec: { taints: null } })],
    [
      'labels by a JSON patch',
      () =>
        patch(own, [{ op: 'add', path: '/metadata/labels/x', value: 'y' }], {
          type: 'json-patch+json',
        }),
    ],
    [
      'labels by a strategic patch',
      () =>
        patch(own, { metadata: { labels: { x: 'y' } } }, { type: 'strategic-merge-patch+json' }),
    ],
    [
      'labels by an apply',
      () =>
        patch(own, JSON.stringify({ ...nodeOf(own), metadata: { labels: { x: 'y' } } }), {
          type: 'apply-patch+yaml',
          more: '?fieldManager=bootwright-node-controller&force=true',
        }),
    ],
    ['its status', () => patch(own, { status: { phase: 'Running' } }, { more: '/status' })],
    ['the status of another', () => patch(other, { status: {} }, { more: '/status' })],
    ['a new node', () => ({ method: 'POST', path: '/api/v1/nodes', body: nodeOf('m9') })],
    ['its node away', () => ({ method: 'DELETE', path: `/api/v1/nodes/${own}` })],
    ['all nodes away', () => ({ method: 'DELETE', path: '/api/v1/nodes' })],
    [
      'a whole node',
      () => ({ method: 'PUT', path: `/api/v1/nodes/${other}`, body: nodeOf(other) }),
    ],
    ['a command on a node', () => ({ method: 'POST', path: `/api/v1/nodes/${other}/proxy/run/x` })],
  ])('is refused: %s', async (_, request) => {
    expect(await send(agent, request())).toEqual(refused);
  });

  it('is refused everything where it is bound to no pod', async () => {
    expect(await send(unbound, annotate(own, ours))).toEqual(refused);
  });

  it('changed nothing', async () => {
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
