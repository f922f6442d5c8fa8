import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { text } from 'node:stream/consumers';
import { join, resolve } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { tokenIssuer } from '../../mocks/inventory/auth.ts';
import { clusterSeed, type ClusterStatus, hostSeed } from '../../mocks/inventory/records.ts';
import { type InventoryServer, startInventory } from '../../mocks/inventory/server.ts';
import { axeFindings, openPage, pictures, startBrowser } from './browser.ts';
import { evilName } from './sample.ts';

const bundle = resolve(import.meta.dirname, '../../dist/bootwright.mjs');
const issuer = tokenIssuer();
const infraEnvId = '22222222-2222-4222-8222-222222222222';
const token = issuer.issue({ infra_env_id: infraEnvId });
const cluster = clusterSeed({ id: '11111111-1111-4111-8111-111111111111' });

/** A service that installs four hosts, unless the cluster has another status. */
async function startService(status = cluster.status): Promise<InventoryServer> {
  const member = { clusterId: cluster.id, infraEnvId, status: 'installing-in-progress' } as const;
  const times = { stageStartedAt: Date.now() - 60_000, stageUpdatedAt: Date.now() };
  const service = await startInventory({
    cluster: { ...cluster, status },
    auth: issuer.auth,
    hosts: [
      hostSeed({
        ...member,
        ...times,
        hostname: 'b1',
        role: 'master',
        isBootstrap: true,
        stage: 'Writing image to disk',
        stageInfo: '40%',
      }),
      hostSeed({ ...member, ...times, hostname: 'm1', role: 'master', stage: 'Installing' }),
      hostSeed({ ...member, ...times, hostname: 'm2', role: 'master', stage: 'Rebooting' }),
      hostSeed({
        ...member,
        ...times,
        hostname: evilName,
        role: 'worker',
        isRenamed: true,
        stage: 'Waiting for control plane',
        stageInfo: 'Waiting for two masters',
      }),
    ],
  });
  onTestFinished(service.close);
  return service;
}

/** A running `watch`, with all its output. */
interface Watch extends AsyncDisposable {
  readonly url: string;
  readonly printed: () => string;
  /** Ends it as Ctrl-C does; resolves with its exit code. */
  readonly interrupt: () => Promise<unknown>;
}

const spawnWatch = (args: readonly string[], secret = token) =>
  spawn(process.execPath, [bundle, 'watch', ...args], {
    env: { PATH: process.env['PATH'], PULL_SECRET_TOKEN: secret },
    stdio: ['ignore', 'pipe', 'pipe'],
  });

async function startWatch(args: readonly string[], secret?: string): Promise<Watch> {
  const child = spawnWatch(args, secret);
  // The output is complete only when the streams have ended too.
  const ended = once(child, 'close');
  let printed = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  }
  const urlIn = (): string | undefined => /^page: (\S+)$/m.exec(printed)?.[1];
  await expect.poll(urlIn).toBeDefined();
  return {
    url: urlIn() ?? '',
    printed: () => printed,
    interrupt: async () => {
      child.kill('SIGINT');
      return (await ended)[0] as unknown;
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(async () => {
  await browser.close();
});

const desk = { width: 1280, scheme: 'dark' } as const;

describe('bootwright watch', () => {
  it('shows the cluster of the service without its token, and saves the page on Ctrl-C', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'bootwright-watch-'));
    onTestFinished(() => rm(folder, { recursive: true }));
    const service = await startService();
    const file = join(folder, 'page.html');
    const target = `${service.url}/api/assisted-install/v2/clusters/${cluster.id}`;
    await using watch = await startWatch([target, '--page-file', file]);
    await using opened = await openPage(browser, watch.url, desk);
    const { page, complaints } = opened;
    await page.getByRole('heading', { name: 'Cluster lab, OpenShift 4.20.1' }).waitFor();
    await page.getByText('40 %').waitFor();
    await page.getByRole('heading', { name: evilName }).waitFor();
    await page.getByText('Waiting for two masters').first().waitFor();
    await page.getByRole('heading', { name: 'Operator' }).waitFor();
    expect(await axeFindings(page)).toEqual([]);
    await page.screenshot({ path: join(pictures, 'watch.png'), fullPage: true });
    expect(complaints).toEqual([]);
    const asked = service.requests.map(({ method, path }) => `${method} ${path}`);
    // One every twenty seconds.
    expect([...new Set(asked)]).toEqual([
      `GET /api/assisted-install/v2/clusters/${cluster.id}?exclude-hosts=false`,
    ]);
    expect(await watch.interrupt()).toBe(0);
    const saved = await readFile(file, 'utf8');
    expect(saved).toContain('Time by activity');
    for (const text of [saved, watch.printed()]) expect(text).not.toContain(token);
  });

  it('reports a refused token and continues', async () => {
    const [secret, words] = ['not-the-token', /token refused: .*answered 401/];
    const service = await startService();
    await using watch = await startWatch([service.url, '--cluster-id', cluster.id], secret);
    await using opened = await openPage(browser, watch.url, desk);
    await opened.page.locator('.last-error').getByText(words).waitFor();
    await expect.poll(watch.printed).toMatch(words);
    expect(watch.printed()).not.toContain(secret);
    expect(await watch.interrupt()).toBe(0);
  });

  it('fails when the page cannot be saved', async () => {
    const file = join(tmpdir(), 'no-such-directory', 'page.html');
    const args = ['http://127.0.0.1:1', '--cluster-id', cluster.id, '--page-file', file];
    await using watch = await startWatch(args);
    expect(await watch.interrupt()).toBe(4);
    expect(watch.printed()).toContain('failed: cli.page-not-written');
  });
});

/** Runs `watch` until it ends by itself; resolves with its output and its exit code. */
async function watchToEnd(args: readonly string[]) {
  const child = spawnWatch(args);
  const [printed, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (child.exitCode === null) await once(child, 'exit');
  return { printed, errors, exitCode: child.exitCode };
}

describe('bootwright watch --until installed', () => {
  const until = ['--cluster-id', cluster.id, '--until', 'installed'];

  it.each<[ClusterStatus, number, RegExp]>([
    ['installed', 0, /^$/],
    ['cancelled', 8, /^failed: cli\.not-installed: cluster \S+ is not installed: cancelled/],
  ])('ends for an installation that is %s with exit code %i', async (status, code, words) => {
    const service = await startService(status);
    const { printed, errors, exitCode } = await watchToEnd([service.url, ...until]);
    expect(exitCode).toBe(code);
    expect(printed).toMatch(new RegExp(`^\\S+Z \\S+: .*${status}`, 'm'));
    expect(printed).not.toContain('Ctrl-C');
    expect(errors).toMatch(words);
  });

  it('ends with 7 after its timeout', async () => {
    const service = await startService();
    const words = [service.url, ...until, '--timeout', '10s'];
    const { printed, errors, exitCode } = await watchToEnd(words);
    expect(exitCode).toBe(7);
    expect(printed).toMatch(/^\S+Z b1: .*Writing image to disk/m);
    expect(errors).toMatch(/^failed: cli\.not-installed-in-time: .* within 10 s: /);
  });
});

/** Sends a request to a server by any host name. */
function ask(
  url: string,
  options: { method?: string; path?: string; host?: string },
): Promise<number> {
  const { method = 'GET', path = '/', host } = options;
  return new Promise((done, fail) => {
    const headers = host === undefined ? {} : { host };
    const asked = request(new URL(path, url), { method, headers }, (answer) => {
      answer.destroy();
      done(answer.statusCode ?? 0);
    });
    asked.once('error', fail);
    asked.end();
  });
}

describe('the server of a page', () => {
  it('accepts only its own address and GET requests', async () => {
    await using watch = await startWatch(['http://127.0.0.1:1', '--cluster-id', cluster.id]);
    for (const [options, status] of [
      [{}, 200],
      [{ host: 'localhost:1234' }, 200],
      [{ path: '/events' }, 200],
      // An attacker's name that points to this address.
      [{ host: 'evil.example.test' }, 403],
      [{ path: '/events', host: 'evil.example.test:80' }, 403],
      [{ method: 'POST' }, 405],
      [{ path: '/../etc/passwd' }, 404],
    ] as const)
      expect(await ask(watch.url, options), JSON.stringify(options)).toBe(status);
  });

  it('fails on an address in use', async () => {
    await using watch = await startWatch(['http://127.0.0.1:1', '--cluster-id', cluster.id]);
    const { host } = new URL(watch.url);
    const args = ['http://127.0.0.1:1', '--cluster-id', 'x', '--listen', host];
    const { errors, exitCode } = await watchToEnd(args);
    expect(exitCode).toBe(4);
    expect(errors).toContain('serve.address-not-taken');
  });
});
