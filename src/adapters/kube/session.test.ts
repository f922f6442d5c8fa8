import { once } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { defaultTimeouts } from './api-server.ts';
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
