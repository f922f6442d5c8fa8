import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { startAgent } from '../../mocks/lab/agent.ts';
import { followGuide } from '../guides/follow-guide.ts';
import { kubeconfigOf } from './kubeconfig.ts';
import { becomes, bundle, hasWritten, runUnder } from './faulty-run.ts';

const folder = mkdtempSync(join(tmpdir(), 'bootwright-metrics-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const name = '[a-zA-Z_:][a-zA-Z0-9_:]*';
const label = String.raw`[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"`;
const value = String.raw`(?:[+-]?Inf|NaN|[+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)`;
const forms = {
  help: new RegExp(`^# HELP (${name}) .+$`),
  type: new RegExp(`^# TYPE (${name}) (?:counter|gauge|histogram|summary)$`),
  sample: new RegExp(String.raw`^(${name})(?:\{(?:${label}(?:,${label})*)?\})? ${value}$`),
};

/**
 * The lines of a text of Prometheus that are not as its format has them (version 0.0.4): each
 * metric has its help, its type, and behind them all of its samples.
 */
function mistakesIn(text: string): readonly string[] {
  let current = '';
  const seen = new Set<string>();
  const typed = new Set<string>();
  return text.split('\n').filter((line) => {
    if (line === '') return false;
    const help = forms.help.exec(line)?.[1];
    if (help !== undefined) {
      current = help;
      return seen.size === seen.add(help).size;
    }
    const type = forms.type.exec(line)?.[1];
    if (type !== undefined) return type !== current || typed.size === typed.add(type).size;
    const of = forms.sample.exec(line)?.[1];
    const isOfCurrent = of === current || of?.replace(/_(?:bucket|sum|count)$/, '') === current;
    return !isOfCurrent || !typed.has(current);
  });
}

/** What a program has logged so far. */
const logOf = (file: string): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');

/** The port that a log says it serves on. */
const portIn = (log: string): string | undefined =>
  /serving \/(?:status|metrics).*"port":(\d+)|"port":(\d+).*serving \/(?:status|metrics)/
    .exec(log)
    ?.slice(1)
    .find(Boolean);

/**
 * Whether somebody has connected to a port of this machine lately (proc_net_tcp(5): local and
 * remote address, state).
 */
const wasReached = (port: string): boolean =>
  new RegExp(`:${Number(port).toString(16).padStart(4, '0')} 0[16] `, 'i').test(
    readFileSync('/proc/net/tcp', 'utf8'),
  );

const scrape = async (port: string): Promise<Response> => fetch(`http://127.0.0.1:${port}/metrics`);

describe('the status of an install', () => {
  it('is watched from elsewhere to the end of both hosts of one-medium.md', async () => {
    const ports: string[] = [];
    const watched = Promise.withResolvers<string>();
    const host = (): ReturnType<typeof runUnder> =>
      runUnder({
        plan: { write: { seconds: 60, flushSeconds: 0, lineMillis: 50 } },
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

  it.each([
    [['http://127.0.0.1:1/status', '--until', 'installed', '--timeout', '2s'], 7, /1 of 1 hosts/],
    [['http://127.0.0.1:1/status', '--cluster-id', 'x'], 2, /without --cluster-id/],
  ])('of no host: %j ends with %i', async (words, exitCode, said) => {
    const ended = Promise.withResolvers<{ stderr: string; code: unknown }>();
    execFile(process.execPath, [bundle, 'watch', ...words], { env: {} }, (error, _, stderr) => {
      ended.resolve({ stderr, code: error?.code });
    });
    const { stderr, code } = await ended.promise;
    expect(stderr).toMatch(said);
    expect(code).toBe(exitCode);
  });

  it('on an address that is taken is a warning, and no more', async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => {
      taken.listen(0, '127.0.0.1', resolve);
    });
    const { port } = taken.address() as AddressInfo;
    const { exitCode, log } = await runUnder({ words: ['--status', `127.0.0.1:${port}`] });
    taken.close();
    expect(exitCode).toBe(0);
    expect(log).toContain('status.not-served');
    expect(log).toContain('EADDRINUSE');
  });

  it('on what is no address is refused before anything', async () => {
    const { exitCode, log, ran } = await runUnder({ words: ['--status', '9110'] });
    expect([exitCode, ran]).toEqual([2, []]);
    expect(log).toContain('config.invalid-value');
  });
});

describe('metrics', () => {
  it('of a program of a pod are served while it waits for its turn', async () => {
    const kubeconfig = join(folder, 'kubeconfig');
    writeFileSync(kubeconfig, kubeconfigOf('https://127.0.0.1:9'));
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
    expect(mistakesIn(text)).toEqual([]);
    expect(text).toContain('process_resident_memory_bytes');
  });
});
