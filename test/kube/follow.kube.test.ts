// Behaviour of a followed selection when the API server, or the network to it, fails.
import { existsSync } from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ApiServer } from '../../mocks/kube/control-plane.ts';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/api-server.ts';
import type { KubeCluster } from '../../src/adapters/kube/kube.ts';
import { nodes } from '../../src/kube/kinds.ts';
import type { KubeView } from '../../src/ports/kube.ts';
import { clusterOf, nodeOf } from './cluster-access.ts';

/** Longer than any recovery; a failure reports how long it took. */
const timeout = 600_000;

let rig: Rig;
/** A server for the final control plane, started by the first test that needs one. */
let final: Promise<ApiServer> | undefined;
let kube: KubeCluster;
let views: KubeView[];
let stop: AbortController;
let ended: Promise<void>;

beforeAll(async () => {
  rig = await startRig({ crds: [] });
});
afterAll(async () => {
  await rig.close();
  const servers = [rig.api, rig.etcd, ...(final === undefined ? [] : [await final])];
  expect(servers.filter(({ isRunning }) => isRunning())).toEqual([]);
  expect(existsSync(rig.folder)).toBe(false);
});

beforeEach(async () => {
  views = [];
  stop = new AbortController();
  kube = clusterOf(rig.kubeconfig);
  await rig.client.create(nodes, nodeOf('first'));
  ended = kube.follow({ kind: nodes }, (view) => void views.push({ ...view }), stop.signal);
  await seen(['first']);
});
afterEach(async () => {
  stop.abort(new Error('the test is over'));
  await ended;
  await kube.close();
  await restore();
});

/** Restores the first server, its network and an empty list of nodes after any test. */
async function restore(): Promise<void> {
  await rig.api.thaw();
  await rig.api.start();
  rig.forwarder.heal();
  rig.forwarder.moveTo(rig.api, 'reset');
  const left = await rig.client.list({ kind: nodes });
  await Promise.all(left.map(({ metadata }) => remove(metadata.name)));
}

const names = (): readonly string[] =>
  views.at(-1)?.objects.map(({ metadata }) => metadata.name) ?? [];
const add = (name: string): Promise<unknown> => rig.client.create(nodes, nodeOf(name));
const remove = (name: string): Promise<void> => rig.client.remove({ kind: nodes, name });
const errors = (): readonly string[] =>
  views.flatMap(({ lastError }) => (lastError === undefined ? [] : lastError.code));

/** Waits until exactly these nodes are seen, without an error. */
async function seen(expected: readonly string[]): Promise<void> {
  const since = performance.now();
  await vi.waitFor(
    () => {
      const took = `${Math.round(performance.now() - since)} ms later`;
      expect(names(), took).toEqual(expected);
      expect(views.at(-1)?.lastError?.message, took).toBeUndefined();
    },
    { timeout: timeout, interval: 2 },
  );
}

const inError = (): Promise<void> =>
  vi.waitFor(() => expect(views.at(-1)?.lastError?.code).toBe('kube.unreachable'), {
    timeout: timeout,
    interval: 2,
  });

/** Number of requests for nodes by a verb, from the server's metrics. */
async function counted(verb: 'LIST' | 'WATCH'): Promise<number> {
  const metrics = await rig.client.read('/metrics');
  const lines = metrics
    .split('\n')
    .filter((line) => line.startsWith('apiserver_request_total{'))
    .filter((line) => line.includes('resource="nodes"') && line.includes(`verb="${verb}"`));
  return lines.reduce((sum, line) => sum + Number(line.replace(/.* /, '')), 0);
}

describe('a follower continues', () => {
  it('after the server was frozen', async () => {
    await rig.api.freeze();
    await inError();
    await rig.api.thaw();
    await add('after');
    await seen(['after', 'first']);
  });

  it('after a network partition, and sees the changes in between', async () => {
    rig.forwarder.partition();
    await add('meanwhile');
    await remove('first');
    await inError();
    rig.forwarder.heal();
    await seen(['meanwhile']);
  });

  it.each(['lost', 'kept', 'reset'] as const)(
    'when the address moves to the final control plane, with connections %s',
    async (connections) => {
      rig.forwarder.moveTo(await (final ??= rig.startFinal()), connections);
      await add('meanwhile');
      await seen(['first', 'meanwhile']);
      await rig.api.stop();
      await add('after');
      await seen(['after', 'first', 'meanwhile']);
      expect(errors(), 'another server was there all the time').toEqual([]);
    },
  );

  it('with new watches and no new list when nothing happens for a while', async () => {
    const before = { lists: await counted('LIST'), watches: await counted('WATCH') };
    const reported = views.length;
    const since = performance.now();
    let watches = 0;
    await vi.waitFor(
      async () => {
        watches = (await counted('WATCH')) - before.watches;
        expect(watches).toBeGreaterThanOrEqual(2);
      },
      { timeout, interval: 500 },
    );
    expect(await counted('LIST')).toBe(before.lists);
    // The server ends each watch after 10 to 20 s.
    expect(watches).toBeLessThanOrEqual(1 + Math.ceil((performance.now() - since) / 10_000));
    expect(views).toHaveLength(reported);
    await add('after');
    await seen(['after', 'first']);
    expect(errors()).toEqual([]);
  });
});

it('sees every change in order through two restarts', async () => {
  const written: string[] = [];
  for (let index = 0; index < 60; index += 1) {
    const name = `n${String(index).padStart(2, '0')}`;
    if (index === 20) await rig.api.kill();
    if (index === 40) await rig.api.stop();
    if (index === 20 || index === 40) await rig.api.start();
    await add(name);
    written.push(name);
  }
  await seen(['first', ...written]);
  const order = views.map((view) => view.objects.length);
  expect(order).toEqual([...order].sort((one, other) => one - other));
});
