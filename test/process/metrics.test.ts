import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { startAgent } from '../../mocks/lab/agent.ts';
import { kubeconfigFor } from '../contract/real/kube-stand.ts';
import { followGuide } from '../guides/follow-guide.ts';
import { becomes, bundle, hasWritten, runUnder } from './faulty-run.ts';

const folder = mkdtempSync(join(tmpdir(), 'bootwright-metrics-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** The log of a program so far. */
const logOf = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');

/** The port of the server, from the log. */
const portIn = (log: string): string | undefined =>
  /serving \/(?:status|metrics).*"port":(\d+)|"port":(\d+).*serving \/(?:status|metrics)/
    .exec(log)
    ?.slice(1)
    .find(Boolean);

/**
 * Whether a client has connected to a port of this machine lately (proc_net_tcp(5): local and
 * remote address, state).
 */
const wasReached = (port: string): boolean =>
  new RegExp(`:${Number(port).toString(16).padStart(4, '0')} 0[16] `, 'i').test(
    readFileSync('/proc/net/tcp', 'utf8'),
  );

const scrape = async (port: string): Promise<Response> => fetch(`http://127.0.0.1:${port}/metrics`);

it('watches the status of both hosts of one-medium.md to the end of their installs', async () => {
  const ports: string[] = [];
  const watched = Promise.withResolvers<string>();
  const host = (): ReturnType<typeof runUnder> =>
    runUnder({
      plan: { write: { seconds: 120, flushSeconds: 0, lineMillis: 50 } },
      words: ['--status', '127.0.0.1:0'],
      beside: async (own) => {
        const port = (): string | undefined => portIn(logOf(join(own.folder, 'agent.log')));
        await becomes(() => port() !== undefined && hasWritten(own));
        const [one, other] = [...ports, port() ?? ''];
        ports.push(port() ?? '');
        if (other !== undefined) {
          const instead = {
            '192.0.2.21:9110': `127.0.0.1:${one}`,
            '192.0.2.22:9110': `127.0.0.1:${other}`,
          };
          const { resolve, reject } = watched;
          followGuide('one-medium.md', {}, { suite: 'process', instead }).then(resolve, reject);
        }
        await becomes(() => wasReached(port() ?? ''));
        own.machine.writer.seconds = 1;
        await watched.promise;
      },
    });
  const ended = await Promise.all([host(), host()]);
  expect(ended.map(({ exitCode }) => exitCode)).toEqual([0, 0]);
});

it('serves the metrics of a controller while it waits for its lease', async () => {
  const kubeconfig = join(folder, 'kubeconfig');
  writeFileSync(kubeconfig, kubeconfigFor('https://127.0.0.1:9'));
  const logFile = join(folder, 'log');
  const agent = startAgent({
    bundle,
    logFile,
    env: { PATH: process.env['PATH'] ?? '' },
    args: ['node', 'controller', '--kubeconfig', kubeconfig, '--metrics', '127.0.0.1:0'],
  });
  const read = (): string => logOf(logFile);
  await becomes(() => portIn(read()) !== undefined);
  const text = await (await scrape(portIn(read()) ?? '')).text();
  agent.stop();
  await agent.ended;
  expect(text).toContain('process_resident_memory_bytes');
});
