import { describe, expect, it, onTestFinished } from 'vitest';
import { fakeClock, settle } from '../../../test/support/fake-clock.ts';
import { fakeKube } from '../../../test/support/fake-kube.ts';
import { runPools } from '../../../test/support/run-pools.ts';
import { deployments, events, machineConfigPools, nodes, pods } from '../../kube/kinds.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';

const namespace = 'assisted-installer';
const pool = (name: string) => ({
  metadata: { name },
  spec: { nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${name}`]: '' } } },
});
const node = (name: string, role: string) => ({
  metadata: { name, labels: { [`node-role.kubernetes.io/${role}`]: '' } },
});
const controller = {
  metadata: { name: 'machine-config-controller', namespace },
  spec: { replicas: 1 },
};
const ownerReferences = [{ kind: 'DaemonSet', name: 'machine-config-daemon', controller: true }];
const daemon = {
  metadata: { name: 'mcd-a', namespace, ownerReferences },
  spec: { nodeName: 'm0' },
};

function setUp() {
  const kube = fakeKube();
  kube.put(machineConfigPools, pool('master')).put(machineConfigPools, pool('worker'));
  kube.put(nodes, node('m0', 'master')).put(nodes, node('w0', 'worker'));
  const stop = new AbortController();
  onTestFinished(() => stop.abort(new Error('stop')));
  const start = () => runPools('roll-out', { kube, clock: fakeClock(), signal: stop.signal });
  const messages = (): readonly string[] =>
    kube.objectsOf(events).map((event) => event['message'] as string);
  return { kube, stop, start, messages };
}

describe('find owners', () => {
  it('says once of each pool who runs it, and again when that changes', async () => {
    const { kube, stop, start, messages } = setUp();
    kube.put(pods, daemon);
    const ended = start();
    await settle();
    expect(messages()).toEqual([
      'hands off: DaemonSet machine-config-daemon has pod mcd-a on node m0',
      'bootwright node controller runs this pool',
    ]);
    kube.put(deployments, controller);
    await settle();
    kube.put(deployments, { ...controller, metadata: { ...controller.metadata, labels: {} } });
    await settle();
    stop.abort(new Error('stop'));
    const { notes } = await ended;
    expect(notes).toEqual([
      'info: pool master: hands off: DaemonSet machine-config-daemon has pod mcd-a on node m0',
      'info: pool worker: bootwright node controller runs this pool',
      'info: pool worker: hands off: Deployment machine-config-controller is there',
    ]);
    expect(kube.writes.map(({ verb, kind }) => `${verb} ${kind}`)).toEqual(
      Array(3).fill('create events'),
    );
  });

  it('says nothing while the API server does not answer', async () => {
    const { kube, stop, start, messages } = setUp();
    kube.lastError(kubeFailure('kube.unreachable', 'no connection'));
    const ended = start();
    await settle();
    expect(messages()).toEqual([]);
    stop.abort(new Error('stop'));
    expect((await ended).notes).toEqual([]);
  });
});
