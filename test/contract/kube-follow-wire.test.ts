// A followed selection on the wire: lists, watches, and their ends.
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { calmTimeouts, defaultTimeouts } from '../../src/adapters/kube/api-server.ts';
import type { KubeOptions } from '../../src/adapters/kube/kube.ts';
import { minutes, seconds } from '../../src/model/duration.ts';
import type { KubeKind, KubeView } from '../../src/ports/kube.ts';
import { quickClock } from '../support/quick-clock.ts';
import { json, type Responder, type TestServer } from './real/http-server.ts';
import { kubeconfigFor, type KubeStand, node, openStand, status } from './real/kube-stand.ts';

const nodes: KubeKind = { group: '', version: 'v1', plural: 'nodes' };
/** Interval of a test's polls. */
const often = { interval: 2 };

let stand: KubeStand;
let server: TestServer;
beforeEach(async () => {
  stand = await openStand();
  ({ server } = stand);
});
afterEach(() => stand.close());

const cluster: KubeStand['cluster'] = (more) => stand.cluster(more);
const asked = (): readonly string[] => stand.asked();

/** An open watch of a test; data written to it reaches the follower. */
type Stream = ServerResponse;

describe('following', () => {
  let streams: Stream[];
  let views: KubeView[];
  let stop: AbortController;
  let lists: Responder[];
  let watches: Responder[];
  let ended: Promise<void> | undefined;

  beforeEach(() => {
    streams = [];
    views = [];
    stop = new AbortController();
    lists = [];
    watches = [];
    server.answering((seen, response) => {
      const queue = seen.path.includes('watch=true') ? watches : lists;
      const next = queue.shift() ?? (queue === watches ? stream : listing(1));
      return next(seen, response);
    });
  });
  afterEach(async () => {
    stop.abort(new Error('the test is over'));
    await ended;
  });

  const listing =
    (version: number, ...items: object[]): Responder =>
    (seen, response) =>
      json(200, { metadata: { resourceVersion: String(version) }, items })(seen, response);
  const stream: Responder = (_, response) => {
    response.writeHead(200);
    response.flushHeaders();
    streams.push(response);
  };
  const follow = (more: Partial<KubeOptions> = {}, seen?: (view: KubeView) => void): void => {
    ended = cluster(more).follow(
      { kind: nodes },
      seen ?? ((view) => void views.push({ ...view })),
      stop.signal,
    );
    ended.catch(() => undefined);
  };
  const send = async (type: string, object: object): Promise<void> => {
    await expect.poll(() => streams.length, often).toBeGreaterThan(0);
    streams.at(-1)?.write(`${JSON.stringify({ type, object })}\n`);
  };
  const view = (count: number): Promise<void> =>
    expect.poll(() => views.length, often).toBeGreaterThanOrEqual(count);
  const watchLines = (): readonly string[] => asked().filter((one) => one.includes('watch=true'));

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

  it.each<[string, (stream: Stream) => void]>([
    ['an ended', (one) => one.end()],
    ['a broken', (one) => one.destroy()],
  ])('resumes %s watch from the last event or bookmark, without a list', async (_, finish) => {
    follow({ clock: quickClock(20) });
    await send('ADDED', node(8));
    await send('BOOKMARK', { metadata: { resourceVersion: '12' } });
    await view(2);
    const [first] = streams;
    if (first !== undefined) finish(first);
    await expect.poll(() => streams.length, often).toBe(2);
    expect(watchLines()[1]).toContain('resourceVersion=12&');
    expect(asked()).toHaveLength(3);
    expect(views.map(({ lastError }) => lastError)).toEqual([undefined, undefined]);
  });

  const chatty: Responder = (_, response) => {
    response.writeHead(200);
    const object = { metadata: { resourceVersion: '5' } };
    const line = `${JSON.stringify({ type: 'BOOKMARK', object })}\n`;
    const timer = setInterval(() => response.write(line), 5);
    response.on('close', () => clearInterval(timer));
  };
  it.each<[string, Responder]>([
    ['is silent', (...given) => stream(...given)],
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
    ...[{ code: 410 }, undefined].map((object): [string, Responder] => [
      `the ERROR event ${JSON.stringify(object)}`,
      (_, response) => void response.end(`${JSON.stringify({ type: 'ERROR', object })}\n`),
    ]),
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
