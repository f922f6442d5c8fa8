// A followed selection on the wire: lists, watches, their ends, and what the API server forbids.
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { calmTimeouts, defaultTimeouts } from '../../src/adapters/kube/api-server.ts';
import type { KubeOptions } from '../../src/adapters/kube/kube.ts';
import { minutes, seconds } from '../../src/model/duration.ts';
import type { KubeKind, KubeSelection, KubeView } from '../../src/ports/kube.ts';
import { quickClock } from '../support/quick-clock.ts';
import { isWatch } from './faults/senders.ts';
import { json, type Responder, type TestServer } from './real/http-server.ts';
import { kubeconfigFor, kubeStand, node, status } from './real/kube-stand.ts';

const nodes: KubeKind = { group: '', version: 'v1', plural: 'nodes' };
const live = new AbortController().signal;
/** Interval of a test's polls. */
const often = { interval: 2 };

const stand = kubeStand();
const { asked, cluster } = stand;
let server: TestServer;
let views: KubeView[];
let stop: AbortController;
let ended: Promise<void> | undefined;
beforeEach(() => {
  ({ server } = stand);
  views = [];
  stop = new AbortController();
  ended = undefined;
});
afterEach(async () => {
  stop.abort(new Error('the test is over'));
  await ended;
});

const listing = (version: number, ...items: object[]): Responder =>
  json(200, { metadata: { resourceVersion: String(version) }, items });
const follow = (more: Partial<KubeOptions> = {}, selection: Partial<KubeSelection> = {}): void => {
  ended = cluster(more).follow(
    { kind: nodes, ...selection },
    (view) => void views.push({ ...view }),
    stop.signal,
  );
  ended.catch(() => undefined);
};
const watchLines = (): readonly string[] => asked().filter(isWatch);

/** An open watch of a test; data written to it reaches the follower. */
type Stream = ServerResponse;

describe('following', () => {
  let streams: Stream[];
  let lists: Responder[];
  let watches: Responder[];

  beforeEach(() => {
    [streams, lists, watches] = [[], [], []];
    server.answering((seen, response) => {
      const queue = isWatch(seen.path) ? watches : lists;
      const next = queue.shift() ?? (queue === watches ? stream : listing(1));
      return next(seen, response);
    });
  });

  const stream: Responder = (_, response) => {
    response.writeHead(200);
    response.flushHeaders();
    streams.push(response);
  };
  const send = async (type: string, object: object): Promise<void> => {
    await expect.poll(() => streams.length, often).toBeGreaterThan(0);
    streams.at(-1)?.write(`${JSON.stringify({ type, object })}\n`);
  };
  const view = (count: number): Promise<void> =>
    expect.poll(() => views.length, often).toBeGreaterThanOrEqual(count);

  it('lists and then watches from the resource version', async () => {
    lists.push(listing(7, node(3)));
    follow();
    await send('MODIFIED', node(8));
    await view(2);
    expect(views.map((one) => one.objects[0]?.metadata.resourceVersion)).toEqual(['3', '8']);
    expect(asked()).toEqual([
      'GET /api/v1/nodes?limit=50',
      'GET /api/v1/nodes?watch=true&resourceVersion=7&allowWatchBookmarks=true&timeoutSeconds=10',
    ]);
    stop.abort();
    await ended;
  });

  it.each<[string, string, object[], (stream: Stream) => void]>([
    ['an ended', 'bookmark', [{ metadata: { resourceVersion: '12' } }], (one) => one.end()],
    ['a broken', 'event', [], (one) => one.destroy()],
  ])('resumes %s watch from its last %s, without a list', async (...[, , bookmarks, finish]) => {
    follow({ clock: quickClock(20) });
    await send('ADDED', node(8));
    for (const bookmark of bookmarks) await send('BOOKMARK', bookmark);
    await view(2);
    const [first] = streams;
    if (first !== undefined) finish(first);
    await expect.poll(() => streams.length, often).toBe(2);
    const version = bookmarks.length === 0 ? 8 : 12;
    expect(watchLines()[1]).toContain(`resourceVersion=${version}&`);
    expect(asked()).toHaveLength(3);
    await send('MODIFIED', node(13));
    await view(3);
    expect(views.at(-1)?.objects[0]?.metadata.resourceVersion).toBe('13');
    expect(views.every(({ lastError }) => lastError === undefined)).toBe(true);
  });

  /** Sends one line of a watch, and ends it. */
  const ending =
    (line: string): Responder =>
    (_, response) =>
      void response.end(`${line}\n`);
  const chatty: Responder = (_, response) => {
    response.writeHead(200);
    const object = { metadata: { resourceVersion: '5' } };
    const line = `${JSON.stringify({ type: 'BOOKMARK', object })}\n`;
    const timer = setInterval(() => response.write(line), 5);
    response.on('close', () => clearInterval(timer));
  };
  it.each<[string, Responder]>([
    ['is silent', stream],
    ['outlives its timeout', chatty],
  ])('restarts a watch that %s, without an error', async (_, watch) => {
    watches.push(watch, watch);
    follow();
    await expect.poll(() => watchLines().length, often).toBeGreaterThanOrEqual(3);
    expect(asked().filter((one) => !one.includes('watch'))).toHaveLength(1);
    expect(views.map(({ lastError }) => lastError)).toEqual([undefined]);
  });

  it.each<[string, Responder]>([
    ['the status 410', status(410)],
    ['an ERROR event with the code 410', ending('{"type":"ERROR","object":{"code":410}}')],
    ['an ERROR event without an object', ending('{"type":"ERROR"}')],
    ['an event that cannot be read', ending('{"type":"ADDED"}')],
  ])('lists again after %s', async (_, bad) => {
    watches.push(bad);
    lists.push(listing(7, node(3)), listing(30, node(29)));
    follow();
    await view(2);
    expect(views.at(-1)).toMatchObject({
      isSynced: true,
      objects: [{ metadata: { resourceVersion: '29' } }],
    });
    expect(views.some(({ lastError }) => lastError !== undefined)).toBe(false);
    await expect.poll(() => watchLines().length, often).toBe(2);
    expect(watchLines()[1]).toContain('resourceVersion=30&');
  });

  it('backs off for a missing kind', async () => {
    server.answering(status(404));
    const clock = quickClock(2000);
    follow({ clock, followTimeouts: () => calmTimeouts });
    await expect.poll(() => clock.elapsed(), often).toBeGreaterThan(minutes(20));
    // Ten within a minute, then 19 more at intervals of a minute.
    expect(asked().length).toBeLessThanOrEqual(32);
    expect(asked().length).toBeGreaterThan(20);
  });

  it('uses the watch timeouts of the kind', async () => {
    const clock = quickClock(2000);
    const calm = { ...calmTimeouts, silence: minutes(2) };
    follow({
      clock,
      followTimeouts: ({ plural }) => (plural === 'nodes' ? calm : defaultTimeouts),
    });
    await expect.poll(() => clock.elapsed(), often).toBeGreaterThan(minutes(4));
    expect(watchLines()).toHaveLength(1);
    const length = Number(/timeoutSeconds=(\d+)/.exec(watchLines()[0] ?? '')?.[1]);
    expect(length).toBeGreaterThanOrEqual(300);
    expect(length).toBeLessThanOrEqual(360);
  });

  it('reports missing credentials', async () => {
    const texts = [undefined, undefined, kubeconfigFor(server.url)];
    follow({ credentials: () => Promise.resolve(texts.shift()) });
    await view(2);
    expect(views.map(({ isSynced, lastError }) => [isSynced, lastError?.code])).toEqual([
      [false, 'kube.no-credentials'],
      [true, undefined],
    ]);
  });

  it('retries a refusal at most once a second', async () => {
    const clock = quickClock(200);
    server.answering(status(403));
    follow({ clock });
    await view(1);
    const [from, before] = [clock.elapsed(), asked().length];
    await expect.poll(() => clock.elapsed(), often).toBeGreaterThan(from + minutes(1));
    const over = (clock.elapsed() - from) / seconds(1);
    expect(asked().length - before).toBeLessThanOrEqual(over + 5);
  });

  it('backs off when the server ends each watch at once', async () => {
    const short: Responder = (_, response) => {
      response.end();
    };
    watches.push(...Array.from({ length: 50 }, () => short));
    const clock = quickClock(5);
    follow({ clock });
    await expect.poll(() => watchLines().length, often).toBeGreaterThanOrEqual(7);
    // Six pauses, each twice as long as the one before, up to a second.
    const least = [50, 100, 200, 400, 800, 1000].reduce((sum, pause) => sum + pause);
    expect(clock.elapsed()).toBeGreaterThanOrEqual(least);
  });

  it('resolves when it is stopped before it starts', async () => {
    await cluster().follow({ kind: nodes }, () => undefined, AbortSignal.abort());
    expect(asked()).toEqual([]);
    const waiting = new AbortController();
    const credentials = (): Promise<undefined> => new Promise(() => undefined);
    const followed = cluster({ credentials }).follow(
      { kind: nodes },
      () => undefined,
      waiting.signal,
    );
    waiting.abort();
    await followed;
  });
});

/** With the message of kube-apiserver 1.34. */
const forbids = (verb: string): Responder =>
  status(403, {
    kind: 'Status',
    reason: 'Forbidden',
    message: `nodes is forbidden: User "system:serviceaccount:a:b" cannot ${verb} resource "nodes" in API group "" at the cluster scope`,
  });

/** A cluster where refusals are final. */
const final = { denials: 'final' } as const;

describe('following with limited permissions', () => {
  it('lists every 30 seconds when watching is forbidden', async () => {
    let version = 1;
    server.answering((seen, response) => {
      if (isWatch(seen.path)) return forbids('watch')(seen, response);
      version += 1;
      return listing(7, node(Math.min(version, 4)))(seen, response);
    });
    const clock = quickClock(1000);
    const since = clock.elapsed();
    follow({ ...final, clock });
    await expect
      .poll(() => asked().filter((one) => one.includes('limit=')).length, often)
      .toBeGreaterThanOrEqual(6);
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
    server.answering((seen, response) => {
      if (seen.path.includes('limit=')) return forbids('list')(seen, response);
      if (isWatch(seen.path)) {
        response.writeHead(200);
        response.flushHeaders();
        return;
      }
      reads += 1;
      const gone = status(404, { kind: 'Status', reason: 'NotFound' });
      return (reads === 1 ? json(200, node(1)) : gone)(seen, response);
    });
    follow({ ...final, clock: quickClock(5) }, { fieldSelector: 'metadata.name=m0' });
    await expect.poll(() => views.at(-1)?.objects.length, often).toBe(0);
    expect(views.map(({ objects }) => objects.length)).toEqual([1, 0]);
    expect(watchLines()).toHaveLength(1);
  });

  it('retries a denied list, as a starting server has no roles yet', async () => {
    let lists = 0;
    server.answering((seen, response) => {
      if (isWatch(seen.path)) return status(410)(seen, response);
      lists += 1;
      return (lists === 2 ? forbids('list') : listing(7, node(lists)))(seen, response);
    });
    follow({ ...final, clock: quickClock(1000) });
    await expect.poll(() => views.at(-1)?.objects[0]?.metadata.resourceVersion, often).toBe('3');
    expect(views.some(({ lastError }) => lastError?.code === 'kube.denied')).toBe(true);
  });
});

it('trims followed objects from lists and events', async () => {
  const event = {
    type: 'ADDED',
    object: { metadata: { name: 'b', resourceVersion: '8' }, spec: { big: 2 } },
  };
  server.answering((seen, response) => {
    if (!isWatch(seen.path))
      return listing(7, { metadata: { name: 'a' }, spec: { big: 1 } })(seen, response);
    response.writeHead(200);
    response.write(`${JSON.stringify(event)}\n`);
  });
  const kept: string[] = [];
  const keep: KubeOptions['keep'] = (kind, { metadata }) => {
    kept.push(kind.plural);
    return { metadata };
  };
  follow({ keep });
  await expect.poll(() => views.at(-1)?.objects.length, often).toBe(2);
  expect(views.at(-1)?.objects).toEqual([
    { metadata: { name: 'a' } },
    { metadata: { name: 'b', resourceVersion: '8' } },
  ]);
  expect(kept).toEqual(['nodes', 'nodes']);
  expect(await cluster({ keep }).list({ kind: nodes }, live)).toMatchObject([{ spec: { big: 1 } }]);
});

it.each([
  [429, 'admission webhook "eviction.example.com" denied the request: moves the machine first'],
  [503, 'etcd leader changed'],
])(
  'an eviction is not retried on %i, as the caller decides about retries',
  async (code, message) => {
    server.answering(status(code, { message }));
    const pod = { namespace: 'n', name: 'p', uid: 'u' };
    const kube = cluster({ clock: quickClock(1000) });
    await expect(kube.evict(pod, live)).rejects.toMatchObject({
      message: expect.stringContaining(message) as string,
    });
    expect(asked()).toHaveLength(1);
  },
);
