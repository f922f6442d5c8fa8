import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { watchHosts } from '../../src/cli/watch-hosts.ts';
import { minutes, seconds } from '../../src/model/duration.ts';
import type { RunStatus } from '../../src/reporting/run-status.ts';
import { runStatus } from '../support/run-status.ts';

const status = (state: RunStatus['state']) => runStatus({ state });

/** Watches hosts with these statuses for a time. */
async function watched(served: readonly object[], limit = minutes(1)): Promise<number> {
  const servers = served.map((document) =>
    createServer((_, response) => response.end(JSON.stringify(document))).listen(0, '127.0.0.1'),
  );
  try {
    await Promise.all(servers.map((server) => once(server, 'listening')));
    const ports = servers.map((server) => (server.address() as AddressInfo).port);
    const urls = ports.map((port) => `http://127.0.0.1:${port}/status`);
    return await watchHosts({ urls, limit, environment: {} });
  } finally {
    for (const server of servers) server.close().closeAllConnections();
  }
}

describe.concurrent('watchHosts', () => {
  const installed = status('left the host');

  it('ends with 0 once all hosts are installed', async () => {
    expect(await watched([installed, status('finished')])).toBe(0);
  });

  it.each<[string, RegExp, readonly object[]]>([
    ['cli.not-installed', /^127\.0\.0\.1:\d+ failed$/, [status('failed'), status('running')]],
    [
      'cli.status-not-found',
      /^no status within 4 s: .* serves no status of a run$/,
      [{ run: 'r' }],
    ],
  ])('fails with %s: %s', async (code, message, served) => {
    // The whole limit passes: a busy machine needs the time to read each status once.
    const thrown: unknown = await watched(served, seconds(4)).catch((error: unknown) => error);
    expect(thrown).toMatchObject({ code, message: expect.stringMatching(message) as string });
  });
});
