import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { defaultTimeouts } from './api-server.ts';
import type { ClusterAccess } from './kubeconfig.ts';
import { session } from './session.ts';

let unhandled: unknown[];
const keep = (reason: unknown): void => {
  unhandled.push(reason);
};
beforeEach(() => {
  unhandled = [];
  process.on('unhandledRejection', keep);
});
afterEach(() => {
  process.off('unhandledRejection', keep);
});

it('a failure of abandoned credentials is not an unhandled rejection', async () => {
  const credentials = async (signal: AbortSignal): Promise<string> => {
    await once(signal, 'abort');
    throw signal.reason;
  };
  const open = session(credentials, { clock: fakeClock(), timeouts: defaultTimeouts });
  const stopped = AbortSignal.abort(new Error('stopped'));
  await expect(open.server(stopped)).rejects.toThrow('stopped');
  await open.close();
  await turn();
  await turn();
  expect(unhandled).toEqual([]);
});

it('closes the connections of replaced credentials once no request uses them', async () => {
  const closed: number[] = [];
  const slow = Promise.withResolvers<undefined>();
  // Other tests of this process may have loaded the session with the real servers.
  vi.resetModules();
  vi.doMock('./api-server.ts', () => ({
    apiServer: ({ server }: ClusterAccess) => ({
      ask: () => slow.promise as Promise<never>,
      close: () => Promise.resolve(void closed.push(Number(new URL(server).port))),
    }),
  }));
  const { session: mocked } = await import('./session.ts');
  vi.doUnmock('./api-server.ts');
  let port = 0;
  const kubeconfig = (): string => {
    port += 1;
    const cluster = { server: `http://h:${port}` };
    return JSON.stringify({
      clusters: [{ name: 'c', cluster }],
      users: [{ name: 'u', user: { token: 't' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    });
  };
  const credentials = () => Promise.resolve(kubeconfig());
  const open = mocked(credentials, { clock: fakeClock(), timeouts: defaultTimeouts });
  const { signal } = new AbortController();
  const replace = () => {
    open.doubt();
    return open.server(signal);
  };
  await open.server(signal);
  const client = await replace();
  expect(closed).toEqual([1]);
  const asked = client.ask({ method: 'GET', path: '/' }, signal, () => Promise.resolve());
  await replace();
  expect(closed).toEqual([1]);
  slow.resolve(undefined);
  await asked;
  expect(closed).toEqual([1, 2]);
  await open.close();
  expect(closed).toEqual([1, 2, 3]);
});
