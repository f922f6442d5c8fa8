import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { LabReport } from '../../mocks/lab/report.ts';
import { type LabRun, runScenario } from '../../mocks/lab/run.ts';
import { parseScenario } from '../../mocks/lab/scenario.ts';
import type { LabSite } from '../../mocks/lab/lab-host.ts';
import { userAgent } from '../../src/model/version.ts';
import { bundlePath, ensureBundle } from '../../scripts/bundle.ts';
import { kubeParts } from '../../scripts/api-server.ts';
import { nearAddress, networkSite, proxyPassword } from './network-site.ts';

const image = Buffer.from('an image '.repeat(100_000));
const sha256 = createHash('sha256').update(image).digest('hex');
const file = 'images/disk.raw';

const stream = (objects: string): string =>
  JSON.stringify({
    stream: 'rhcos',
    architectures: {
      x86_64: {
        artifacts: {
          metal: {
            release: '1',
            formats: { raw: { disk: { location: `${objects}/${file}`, sha256 } } },
          },
        },
      },
    },
  });

interface Seen {
  readonly report: LabReport;
  readonly run: LabRun;
  /** Every file that hosts and agents left. */
  readonly left: ReadonlyMap<string, string>;
}

async function runIn(site: LabSite, hosts: readonly object[]): Promise<Seen> {
  const scenario = parseScenario(
    stringify({
      title: 'A network',
      description: 'A network whose only way out is a proxy',
      hosts,
      expect: { outcome: 'installed' },
    }),
  );
  let run: LabRun | undefined;
  const report = await runScenario({
    name: 'network',
    scenario,
    bundle: bundlePath,
    kube: await kubeParts(),
    site,
    signal: new AbortController().signal,
    watch: (started) => {
      run = started;
      const { objects, inventory } = started.lab;
      const { id } = inventory.store.cluster();
      objects.put('images', 'disk.raw', image);
      objects.put('images', 'stream.json', stream(site.addressOf(objects.url, 'objects')));
      objects.put('ignition', `${id}/worker.ign`, '{"ignition":{"version":"3.2.0"}}');
      return () => undefined;
    },
  });
  if (run === undefined) throw new Error('the run did not start');
  const entries = readdirSync(run.folder, { recursive: true, withFileTypes: true });
  const paths = entries.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name));
  const left = new Map(paths.map((path) => [path, readFileSync(path, 'latin1')]));
  await rm(run.folder, { recursive: true });
  return { report, run, left };
}

const write = { seconds: 0.5, lineMillis: 100, flushSeconds: 0 };

beforeAll(async () => {
  await ensureBundle(() => undefined);
});

describe('a network with a proxy as its only way out', () => {
  it('allows an installation of every role, without the proxy password in files or arguments', async () => {
    const environment: Record<string, string> = {};
    await using net = await networkSite({}, { flags: [], environment });
    // As podman passes them: one in upper case, the other in lower case.
    environment['HTTP_PROXY'] = net.proxyUrl;
    environment['https_proxy'] = net.proxyUrl;
    const { report, run, left } = await runIn(net.site, [
      { name: 'b', role: 'bootstrap', write },
      {
        name: 'm1',
        role: 'master',
        write,
        settings: {
          'image.url': `http://objects.site.test/${file}`,
          'image.sha256': sha256,
          'image.nodeImage': 'registry.example.test/node:4.20.1',
        },
      },
      {
        name: 'm2',
        role: 'master',
        write,
        settings: { 'image.stream': '{objects}/images/stream.json' },
      },
      {
        // It asks for the masters twice a minute, and they are done by then.
        name: 'w',
        role: 'worker',
        write,
        startsAfterSeconds: 15,
        settings: {
          'ignition.source': 's3',
          's3.endpoint': '{objects}',
          's3.bucket': 'ignition',
          'image.url': `{objects}/${file}`,
        },
      },
    ]);
    expect(report.differences).toEqual([]);
    expect(report.outcome).toBe('installed');
    expect(net.denied()).toBe(0);
    const { inventory, objects } = run.lab;
    expect(inventory.store.hosts().map(({ logsState }) => logsState)).toEqual(
      inventory.store.hosts().map(() => 'completed'),
    );
    for (const target of [
      ...['service.site.test:443', 'objects.site.test:443', 'registry.example.test:443'],
      `http://objects.site.test/${file}`,
    ]) {
      expect(net.proxied).toContain(target);
    }
    expect(net.proxied.filter((target) => /127\.0\.0\.1|localhost/.test(target))).toEqual([]);
    for (const { headers, path } of [...inventory.requests, ...objects.requests]) {
      // logs_sender and podman are not ours.
      if (path.includes('/logs') || path === '/v2/') continue;
      expect(headers['user-agent'], path).toContain(userAgent);
    }
    const shown = [...left].filter(([, text]) => text.includes(proxyPassword));
    expect(shown.map(([path]) => path)).toEqual([]);
    const argvs = run.hosts.flatMap(({ machine }) => machine.ran.flatMap(({ argv }) => argv));
    expect(argvs.filter((word) => word.includes(proxyPassword))).toEqual([]);
  });
});

describe('a network whose service is excluded from the proxy', () => {
  it('honors a CIDR in NO_PROXY in every request and command', async () => {
    const environment: Record<string, string> = { no_proxy: '10.77.0.0/24' };
    await using net = await networkSite({ isNear: true }, { flags: [], environment });
    environment['https_proxy'] = net.proxyUrl;
    const { report, run } = await runIn(net.site, [
      {
        name: 'a1',
        role: 'arbiter',
        write,
        settings: { 'image.url': `{objects}/${file}` },
      },
    ]);
    expect(report.differences).toEqual([]);
    expect(report.outcome).toBe('installed');
    expect(net.proxied).toContain('objects.site.test:443');
    expect(net.proxied.filter((target) => target.startsWith(nearAddress))).toEqual([]);
    expect(net.denied()).toBe(0);
    expect(run.lab.inventory.store.hosts().map(({ logsState }) => logsState)).toEqual([
      'completed',
    ]);
  });
});
