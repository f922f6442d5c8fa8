import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { inventoryFailure, webFailure } from '../../adapters/http/failures.ts';
import { Config, type ConfigInput } from '../../config/schema.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { expiredAuthority } from '../../../test/support/authority.ts';
import { downloadOf } from '../../../test/support/download.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { fakeInventory } from '../../../test/support/fake-inventory.ts';
import { fakeObjects } from '../../../test/support/fake-objects.ts';
import { fakeWeb } from '../../../test/support/fake-web.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { minutes } from '../../model/duration.ts';
import type { Secret } from '../../model/secret.ts';
import { fetchHost, hideSaved } from './fetch-host.ts';

const pointer = '{"ignition":{"version":"3.2.0"}, "storage": {}}\n';
const sha256 = createHash('sha256').update(pointer).digest('hex');
const config: ConfigInput = {
  role: 'worker',
  service: { url: 'http://svc.example' },
  cluster: { id: 'c', infraEnvId: 'i', hostId: 'h' },
};
const path = '/opt/install-dir/worker-h.ign';

const saved = '{"passwd":{"users":[{"passwordHash":"$6$0123456789abcdef$ghijk"}]}}';

describe('ignition/fetch-host', () => {
  it('writes the config of the service unchanged with mode 0600', async () => {
    const host = fakeHost();
    const inventory = fakeInventory({ ignition: pointer });
    const { value, events } = await runStep(fetchHost, { config, host, inventory });
    expect(value).toMatchObject({ path, bytes: pointer.length, sha256, version: '3.2.0' });
    expect(host.textOf(path)).toBe(pointer);
    expect(host.files.get(path)?.mode).toBe(0o600);
    expect(inventory.calls).toEqual(['hostIgnition worker']);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'step.started', stage: 'Installing', stageInfo: 'worker' }),
    );
  });

  it.each([
    ['of this host', path],
    ['of the bootstrap host', '/opt/install-dir/bootstrap.ign'],
    ['that the bootstrap rendered', '/opt/openshift/master.ign'],
  ])('hides the secrets of a saved config %s', async (_, at) => {
    const hidden: string[] = [];
    const scope = {
      host: fakeHost().withFile(at, saved),
      signal: new AbortController().signal,
      hide: (secret: Secret) => hidden.push(secret.reveal()),
    };
    await hideSaved(scope, Config.parse(config));
    expect(hidden).toEqual(['$6$0123456789abcdef$ghijk']);
  });

  it('waits while the service has no config for this host', async () => {
    const inventory = fakeInventory({ ignition: pointer });
    const early = inventoryFailure('inventory.not-ready', 'the control plane is not initialized');
    inventory.failing('hostIgnition', early);
    const clock = fakeClock();
    const { value } = await runStep(fetchHost, { config, host: fakeHost(), inventory, clock });
    expect(value).toMatchObject({ path });
    expect(clock.slept).toContain(10_000);
  });

  it('writes no file when the CA of the config server has expired by the clock of the host', async () => {
    const source = `data:,${encodeURIComponent(expiredAuthority)}`;
    const trusting = JSON.parse(pointer) as { ignition: object };
    const security = { tls: { certificateAuthorities: [{ source }] } };
    const ignition = JSON.stringify({ ignition: { ...trusting.ignition, security } });
    const [host, clock] = [fakeHost(), fakeClock({ start: Date.parse('2026-12-01') })];
    const inventory = fakeInventory({ ignition });
    const { failure } = await tryStep(fetchHost, { config, host, inventory, clock });
    expect(failure).toMatchObject({ code: 'ignition.wrong-time' });
    expect(clock.elapsed()).toBe(minutes(5));
    expect([...host.files.keys()]).toEqual([]);
  });

  it('fetches the master config on the bootstrap host', async () => {
    const host = fakeHost();
    const inventory = fakeInventory({ ignition: pointer });
    const { value } = await runStep(fetchHost, {
      config: { ...config, role: 'bootstrap' },
      host,
      inventory,
    });
    expect(value.path).toBe('/opt/install-dir/master-h.ign');
    expect(inventory.calls).toEqual(['hostIgnition master']);
  });

  it('reads the config of the role from the object store of the 2020 contract', async () => {
    const host = fakeHost();
    const objects = fakeObjects().with('bucket/c/worker.ign', pointer);
    const { value } = await runStep(fetchHost, {
      config: {
        role: 'worker',
        cluster: { id: 'c' },
        s3: { endpoint: 'http://s3.example', bucket: 'bucket' },
      },
      host,
      objects,
    });
    expect(value).toMatchObject({
      path: '/opt/install-dir/worker.ign',
      origin: 's3://bucket/c/worker.ign',
    });
    expect(objects.asked).toEqual(['bucket/c/worker.ign']);
  });

  it('requests a spec version from a URL and uses its CA file', async () => {
    const host = fakeHost().withFile('/etc/pki/mcs.pem', 'PEM');
    const url = 'https://web.example/worker.ign';
    const web = fakeWeb().with(url, pointer);
    await runStep(fetchHost, {
      config: { ...config, ignition: { url, caFile: '/etc/pki/mcs.pem', sha256 } },
      host,
      web,
    });
    expect(web.opened).toMatchObject([
      { url, ca: 'PEM', accept: expect.stringContaining('version=3.2.0') as string },
    ]);
  });

  it('reads a file on the host', async () => {
    const host = fakeHost().withFile('/opt/my.ign', pointer);
    const { value } = await runStep(fetchHost, {
      config: { ...config, ignition: { file: '/opt/my.ign' } },
      host,
    });
    expect(value.origin).toBe('/opt/my.ign');
  });

  it.each<[string, string, string]>([
    ['spec 2', '{"ignition":{"version":"2.2.0"}}', 'ignition.spec-2'],
    [
      'an invalid file',
      '{"ignition":{"version":"3.2.0"},"storage":{"files":[{"path":"a"}]}}',
      'ignition.invalid',
    ],
  ])('writes no file for %s', async (_, ignition, code) => {
    const host = fakeHost();
    const { failure } = await tryStep(fetchHost, {
      config,
      host,
      inventory: fakeInventory({ ignition }),
    });
    expect(failure).toMatchObject({ code });
    expect([...host.files.keys()]).toEqual([]);
  });

  it('fetches again when the connection or the content length shows a truncated body', async () => {
    const bodies = [
      downloadOf(pointer, { cut: { after: 5, error: webFailure('web.cut', 'body was cut') } }),
      downloadOf(pointer.slice(0, 10), { bytes: pointer.length }),
      downloadOf(pointer),
    ];
    const host = fakeHost();
    const inventory = fakeInventory().answering({
      hostIgnition: () => Promise.resolve(bodies.shift() ?? downloadOf('')),
    });
    const { value, events } = await runStep(fetchHost, { config, host, inventory });
    expect(value.sha256).toBe(sha256);
    expect(
      events.flatMap((event) => (event.type === 'step.retrying' ? [event.failure.code] : [])),
    ).toEqual(['web.cut', 'ignition.cut']);
  });

  it('stops reading an oversized config', async () => {
    const chunk = new Uint8Array(16 * 1024 * 1024);
    async function* endless(): AsyncGenerator<Uint8Array> {
      for (;;) yield await Promise.resolve(chunk);
    }
    const inventory = fakeInventory().answering({
      hostIgnition: () => Promise.resolve({ body: endless(), origin: 'endless' }),
    });
    await expect(runStep(fetchHost, { config, inventory })).rejects.toMatchObject({
      code: 'ignition.oversized',
    });
  });
});

it('hides the secrets of a config even when it is invalid', async () => {
  const basic = Buffer.from('user:hidden-basic').toString('base64');
  const content = (text: string): object => ({
    source: `data:;base64,${Buffer.from(text).toString('base64')}`,
  });
  const text = JSON.stringify({
    ignition: {
      version: '3.2.0',
      config: {
        merge: [
          {
            source: 'https://user:hidden-url@svc.example/x',
            httpHeaders: [
              { name: 'Authorization', value: `Basic ${basic}` },
              { name: 'X-Secret-Key', value: 'hidden-header' },
            ],
          },
        ],
      },
    },
    passwd: { users: [{ name: 'core', passwordHash: '$6$salt$hidden-hash' }] },
    storage: {
      files: [
        {
          path: '/root/.docker/config.json',
          mode: 0o644,
          contents: content(JSON.stringify({ auths: { r: { auth: basic } } })),
        },
        { path: '/etc/key', mode: 0o600, contents: content('hidden-content') },
        { path: '/etc/motd', mode: 0o644, contents: content('welcome to it') },
      ],
      luks: [{ name: 'l', keyFile: content('hidden-luks') }],
    },
    // An unknown member makes the config invalid.
    unknown: 1,
  });
  const inventory = fakeInventory({ ignition: text });
  const { hidden } = await tryStep(fetchHost, { config, host: fakeHost(), inventory });
  const all = hidden.join(' ');
  const names = ['basic', 'url', 'header', 'hash', 'content', 'luks'];
  expect(names.filter((name) => !all.includes(`hidden-${name}`))).toEqual([]);
  expect(all).not.toContain('welcome');
});
