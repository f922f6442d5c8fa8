// The connections of a cluster whose credentials are replaced.
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { defaultTimeouts } from '../../src/adapters/kube/api-server.ts';
import type { KubeKind } from '../../src/ports/kube.ts';
import { quickClock } from '../support/quick-clock.ts';
import { json } from './real/http-server.ts';
import { kubeconfigFor, type KubeStand, node, openStand, status } from './real/kube-stand.ts';

const nodes: KubeKind = { group: '', version: 'v1', plural: 'nodes' };

let stand: KubeStand;
beforeEach(async () => {
  stand = await openStand();
});
afterEach(() => stand.close());

it('closes a watch with older credentials when the cluster is closed', async () => {
  const { server } = stand;
  server.answering((seen, response) => {
    if (seen.path.includes('watch=true')) {
      response.writeHead(200).flushHeaders();
      return;
    }
    const list = { metadata: { resourceVersion: '1' }, items: [] };
    if (!seen.path.includes('/m0')) return json(200, list)(seen, response);
    const isNew = seen.headers.authorization === 'Bearer new';
    return (isNew ? json(200, node(1)) : status(401))(seen, response);
  });
  const texts = [kubeconfigFor(server.url), kubeconfigFor(server.url, { user: { token: 'new' } })];
  // Timeouts of the watch and its connection are longer than the test.
  const patient = { clock: quickClock(1), timeouts: defaultTimeouts };
  const credentials = () => Promise.resolve(texts.shift());
  const kube = stand.cluster({ credentials, ...patient });
  const { signal } = new AbortController();
  const ended = kube.follow({ kind: nodes }, () => undefined, signal).catch(() => undefined);
  const often = { interval: 2 };
  await expect.poll(() => stand.asked().at(-1), often).toContain('watch=true');
  expect(await kube.get({ kind: nodes, name: 'm0' }, signal)).toBeDefined();
  await kube.close();
  const open = promisify(server.server.getConnections.bind(server.server));
  await expect.poll(() => open(), { interval: 2 }).toBe(0);
  await ended;
});

it('reads a response to older credentials completely before it closes the connection', async () => {
  const { server } = stand;
  let token = 0;
  const slow = Promise.withResolvers<undefined>();
  server.answering(async (seen, response) => {
    if (seen.headers.authorization !== `Bearer t${token}`) return status(401)(seen, response);
    if (seen.path.endsWith('/slow')) await slow.promise;
    return json(200, node(1))(seen, response);
  });
  const kube = stand.cluster({
    credentials: () => Promise.resolve(kubeconfigFor(server.url, { user: { token: `t${token}` } })),
    // A call then has three seconds, and a pause takes a few milliseconds.
    clock: quickClock(20),
    timeouts: defaultTimeouts,
  });
  const get = (name: string) => kube.get({ kind: nodes, name }, new AbortController().signal);
  const connections = promisify(server.server.getConnections.bind(server.server));
  const early = get('slow');
  await expect.poll(() => stand.asked().length, { interval: 2 }).toBe(1);
  token += 1;
  expect(await get('m0')).toBeDefined();
  expect(await connections()).toBeGreaterThan(1);
  slow.resolve(undefined);
  expect(await early).toBeDefined();
  // An idle connection would close by itself only seconds later.
  await expect.poll(() => connections(), { interval: 2 }).toBe(1);
});
