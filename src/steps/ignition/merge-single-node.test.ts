import { describe, expect, it } from 'vitest';
import { fakeHost, type FakeHost } from '../../../test/support/fake-host.ts';
import { fakeInventory } from '../../../test/support/fake-inventory.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { mergeSingleNodeIgnition } from './merge-single-node.ts';

const config: ConfigInput = {
  role: 'bootstrap',
  service: { url: 'http://svc.example' },
  cluster: { id: 'c', infraEnvId: 'i', hostId: 'h', controlPlaneCount: 1 },
};
const path = '/opt/openshift/master.ign';
const append = (text: string): object => ({
  path: '/etc/motd',
  append: [{ source: `data:,${text}` }],
});
const rendered = JSON.stringify({
  ignition: { version: '3.2.0' },
  storage: { files: [append('base')] },
});
const overrides = JSON.stringify({
  ignition: {
    version: '3.2.0',
    config: { merge: [{ source: 'https://api-int.example:22623/config/master' }] },
  },
  storage: { files: [append('host')] },
});
const merged = JSON.stringify({
  ignition: { version: '3.2.0' },
  storage: {
    files: [{ path: '/etc/motd', append: [{ source: 'data:,base' }, { source: 'data:,host' }] }],
  },
});

const nodeWith = (text: string | undefined): FakeHost => {
  const host = fakeHost()
    .on(['stat', path])
    .answers((_argv, { files }) =>
      files.has(path) ? {} : { exitCode: 1, stderr: 'No such file' },
    );
  return text === undefined ? host : host.withFile(path, text);
};

describe('ignition/merge-single-node', () => {
  it('replaces the rendered config by its merge with the overrides of the host', async () => {
    const host = nodeWith(rendered);
    const inventory = fakeInventory({ ignition: overrides });
    const { value } = await runStep(mergeSingleNodeIgnition, { config, host, inventory });
    expect(JSON.parse(host.textOf(path) ?? '')).toEqual(JSON.parse(merged));
    expect(host.files.get(path)?.mode).toBe(0o600);
    expect(value).toMatchObject({
      path,
      version: '3.2.0',
      bytes: host.files.get(path)?.bytes.length,
      origin: 'the inventory service, merged into the config that the bootstrap rendered',
    });
    expect(inventory.calls).toEqual(['hostIgnition master']);
  });

  it('keeps copies of the served and the rendered config', async () => {
    const host = nodeWith(rendered);
    await runStep(mergeSingleNodeIgnition, {
      config,
      host,
      inventory: fakeInventory({ ignition: overrides }),
    });
    expect(host.textOf('/opt/install-dir/master-h.ign')).toBe(overrides);
    expect(host.textOf('/opt/install-dir/master.ign.rendered')).toBe(rendered);
    expect(host.files.get('/opt/install-dir/master.ign.rendered')?.mode).toBe(0o600);
  });

  it('merges new overrides into the rendered config, not into an earlier merge', async () => {
    const host = nodeWith(rendered);
    const first = fakeInventory({ ignition: overrides.replace('data:,host', 'data:,old') });
    await runStep(mergeSingleNodeIgnition, { config, host, inventory: first });
    const second = fakeInventory({ ignition: overrides });
    await runStep(mergeSingleNodeIgnition, { config, host, inventory: second });
    expect(JSON.parse(host.textOf(path) ?? '')).toEqual(JSON.parse(merged));
  });

  it('fails without a request when there is no rendered config', async () => {
    const inventory = fakeInventory({ ignition: overrides });
    const host = nodeWith(undefined);
    const { failure } = await tryStep(mergeSingleNodeIgnition, { config, host, inventory });
    expect(failure).toMatchObject({ code: 'ignition.not-rendered', context: { path } });
    expect(inventory.calls).toEqual([]);
  });

  it.each([
    ['the config of the host is invalid', rendered, '{"ignition":{"version":"9.0.0"}}'],
    ['the rendered config is invalid', '{', overrides],
  ])('does not change the rendered config when %s', async (_, master, ignition) => {
    const host = nodeWith(master);
    const inventory = fakeInventory({ ignition });
    const { failure } = await tryStep(mergeSingleNodeIgnition, { config, host, inventory });
    expect(failure).toMatchObject({ code: expect.stringMatching(/^ignition\./) as string });
    expect(host.textOf(path)).toBe(master);
  });
});
