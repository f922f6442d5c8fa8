import { describe, expect, it } from 'vitest';
import { downloadOf } from '../../../test/support/download.ts';
import { fakeHost } from '../../../test/support/fake-host.ts';
import { fakeInventory } from '../../../test/support/fake-inventory.ts';
import { fakeObjects } from '../../../test/support/fake-objects.ts';
import { isSafeToRepeat, runStep, tryStep } from '../../../test/support/run-step.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { fetchIgnition } from './fetch-ignition.ts';

const bootstrap = '{"ignition":{"version":"3.2.0"}, "storage": {}}\n';
const path = '/opt/install-dir/bootstrap.ign';
const config: ConfigInput = { role: 'bootstrap', service: { url: 'http://svc.example' } };

describe('bootstrap/fetch-ignition', () => {
  it('writes what the service gives, byte for byte, for root alone', async () => {
    const host = fakeHost();
    const inventory = fakeInventory({ files: { 'bootstrap.ign': bootstrap } });
    const { value } = await runStep(fetchIgnition, { config, host, inventory });
    expect(value).toEqual({ path });
    expect(host.textOf(path)).toBe(bootstrap);
    expect(host.files.get(path)?.mode).toBe(0o600);
  });

  it('reads it from the object store of the 2020 contract', async () => {
    const objects = fakeObjects().with('bucket/c/bootstrap.ign', bootstrap);
    const host = fakeHost();
    await runStep(fetchIgnition, {
      config: { cluster: { id: 'c' }, s3: { endpoint: 'http://s3.example', bucket: 'bucket' } },
      host,
      objects,
    });
    expect(host.textOf(path)).toBe(bootstrap);
  });

  it('is not held against the digest of the config of this host', async () => {
    const inventory = fakeInventory({ files: { 'bootstrap.ign': bootstrap } });
    const { value } = await runStep(fetchIgnition, {
      config: { ...config, ignition: { sha256: 'a'.repeat(64) } },
      inventory,
    });
    expect(value).toEqual({ path });
  });

  it('fetches again when the body was cut', async () => {
    const bodies = [
      downloadOf(bootstrap.slice(0, 10), { bytes: bootstrap.length }),
      downloadOf(bootstrap),
    ];
    const host = fakeHost();
    const inventory = fakeInventory().answering({
      clusterFile: () => Promise.resolve(bodies.shift() ?? downloadOf('')),
    });
    await runStep(fetchIgnition, { config, host, inventory });
    expect(host.textOf(path)).toBe(bootstrap);
  });

  it.each([
    ['a page of HTML', '<!DOCTYPE html><html>log in</html>', 'ignition.html-page'],
    ['an error of the service', '{"code":"409","reason":"no"}', 'ignition.error-body'],
    ['spec 2', '{"ignition":{"version":"2.2.0"}}', 'ignition.spec-2'],
  ])('leaves no file behind when %s comes', async (_, text, code) => {
    const host = fakeHost();
    const inventory = fakeInventory({ files: { 'bootstrap.ign': text } });
    const { failure } = await tryStep(fetchIgnition, { config, host, inventory });
    expect(failure).toMatchObject({ code });
    expect([...host.files.keys()]).toEqual([]);
  });

  it('tells what is odd in a config that is taken all the same', async () => {
    const inventory = fakeInventory({
      files: { 'bootstrap.ign': '{"ignition":{"version":"3.2.0"},"storag":{}}' },
    });
    const { notes } = await runStep(fetchIgnition, { config, inventory });
    expect(notes).toEqual([expect.stringMatching(/^warn: bootstrap\.ign: .*storag/)]);
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(fetchIgnition, () => ({
      config,
      host: fakeHost(),
      inventory: fakeInventory({ files: { 'bootstrap.ign': bootstrap } }),
    }));
    expect.hasAssertions();
  });
});
