// Requests that the API server forbids, in a cluster where refusals are final.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KubeCluster, KubeOptions } from '../../src/adapters/kube/kube.ts';
import { seconds } from '../../src/model/duration.ts';
import type { KubeSelection, KubeView } from '../../src/ports/kube.ts';
import { quickClock } from '../support/quick-clock.ts';
import { json, type Responder, type TestServer } from './real/http-server.ts';
import { type KubeStand, node, openStand, status } from './real/kube-stand.ts';

const nodes = { group: '', version: 'v1', plural: 'nodes' };
const live = new AbortController().signal;
const often = { interval: 2 };

/** With the message of kube-apiserver 1.34. */
const forbids = (verb: string, more = ''): Responder =>
  status(403, {
    kind: 'Status',
    reason: 'Forbidden',
    message: `nodes is forbidden: User "system:serviceaccount:a:b" cannot ${verb} resource "nodes" in API group "" at the cluster scope${more}`,
  });

let stand: KubeStand;
let stop: AbortController;
let ended: Promise<void> | undefined;
let views: KubeView[];
beforeEach(async () => {
  stand = await openStand();
  stop = new AbortController();
  ended = undefined;
  views = [];
});
afterEach(async () => {
  stop.abort(new Error('the test is over'));
  await ended;
  await stand.close();
});

const final = (more: Partial<KubeOptions> = {}): KubeCluster =>
  stand.cluster({ denials: 'final', ...more });
const follow = (kube: KubeCluster, selection: Partial<KubeSelection> = {}): void => {
  ended = kube.follow(
    { kind: nodes, ...selection },
    (view) => void views.push({ ...view }),
    stop.signal,
  );
};
const listing = (...items: object[]): Responder =>
  json(200, { metadata: { resourceVersion: '7' }, items });
const isWatch = ({ path }: Pick<TestServer['seen'][number], 'path'>): boolean =>
  path.includes('watch=true');
const count = (word: string): number => stand.asked().filter((one) => one.includes(word)).length;

describe('following with limited permissions', () => {
  it('lists every 30 seconds when watching is forbidden', async () => {
    let version = 1;
    stand.server.answering((seen, response) => {
      if (isWatch(seen)) return forbids('watch')(seen, response);
      version += 1;
      return listing(node(Math.min(version, 4)))(seen, response);
    });
    const clock = quickClock(1000);
    const since = clock.elapsed();
    follow(final({ clock }));
    await expect.poll(() => count('limit='), often).toBeGreaterThanOrEqual(6);
    expect(clock.elapsed() - since).toBeGreaterThanOrEqual(5 * seconds(30));
    expect(views.map(({ objects }) => objects[0]?.metadata.resourceVersion)).toEqual([
      '2',
      '3',
      '4',
    ]);
    expect(views.some(({ lastError }) => lastError !== undefined)).toBe(false);
  });

  it('detects a deletion before the watch began when list is forbidden', async () => {
    let reads = 0;
    stand.server.answering((seen, response) => {
      if (seen.path.includes('limit=')) return forbids('list')(seen, response);
      if (isWatch(seen)) {
        response.writeHead(200);
        response.flushHeaders();
        return;
      }
      reads += 1;
      const gone = status(404, { kind: 'Status', reason: 'NotFound' });
      return (reads === 1 ? json(200, node(1)) : gone)(seen, response);
    });
    follow(final({ clock: quickClock(5) }), { fieldSelector: 'metadata.name=m0' });
    await expect.poll(() => views.at(-1)?.objects.length, often).toBe(0);
    expect(views.map(({ objects }) => objects.length)).toEqual([1, 0]);
    expect(count('watch=true')).toBe(1);
  });

  it('retries a denied list, as a starting server has no roles yet', async () => {
    let lists = 0;
    stand.server.answering((seen, response) => {
      if (isWatch(seen)) return status(410)(seen, response);
      lists += 1;
      return (lists === 2 ? forbids('list') : listing(node(lists)))(seen, response);
    });
    follow(final({ clock: quickClock(1000) }));
    await expect.poll(() => views.at(-1)?.objects[0]?.metadata.resourceVersion, often).toBe('3');
    expect(views.some(({ lastError }) => lastError?.code === 'kube.denied')).toBe(true);
  });
});

it('trims followed objects from lists and events', async () => {
  const event = {
    type: 'ADDED',
    object: { metadata: { name: 'b', resourceVersion: '8' }, spec: { big: 2 } },
  };
  stand.server.answering((seen, response) => {
    if (!isWatch(seen))
      return listing({ metadata: { name: 'a' }, spec: { big: 1 } })(seen, response);
    response.writeHead(200);
    response.write(`${JSON.stringify(event)}\n`);
  });
  const asked: string[] = [];
  const kube = stand.cluster({
    keep: (kind, { metadata }) => {
      asked.push(kind.plural);
      return { metadata };
    },
  });
  follow(kube);
  await expect.poll(() => views.at(-1)?.objects.length, often).toBe(2);
  expect(views.at(-1)?.objects).toEqual([
    { metadata: { name: 'a' } },
    { metadata: { name: 'b', resourceVersion: '8' } },
  ]);
  expect(asked).toEqual(['nodes', 'nodes']);
  expect(await kube.list({ kind: nodes }, live)).toMatchObject([{ spec: { big: 1 } }]);
});

it.each([
  [429, 'admission webhook "eviction.example.com" denied the request: moves the machine first'],
  [503, 'etcd leader changed'],
])(
  'an eviction is not retried on %i, as the caller decides about retries',
  async (code, message) => {
    stand.server.answering(status(code, { message }));
    const pod = { namespace: 'n', name: 'p', uid: 'u' };
    const kube = stand.cluster({ clock: quickClock(1000) });
    await expect(kube.evict(pod, live)).rejects.toMatchObject({
      message: expect.stringContaining(message) as string,
    });
    expect(stand.asked()).toHaveLength(1);
  },
);
