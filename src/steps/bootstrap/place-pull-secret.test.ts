import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { fakeHost, type FakeHost } from '../../../test/support/fake-host.ts';
import { isSafeToRepeat, runStep, tryStep } from '../../../test/support/run-step.ts';
import { placePullSecret } from './apply-ignition.ts';

const secret = '{"auths":{"registry.example":{"auth":"planted-secret-5b0c"}}}';
const path = '/root/.docker/config.json';
const extracted = '/opt/extracted_from_ignition.json';
const facts = { ignition: { path: '/opt/install-dir/bootstrap.ign' } };

const base64 = (content: string | Uint8Array): string =>
  `data:;base64,${Buffer.from(content).toString('base64')}`;
const plain = { source: base64(secret) };
const withContents = (contents: object, version = '3.2.0'): string =>
  JSON.stringify({ ignition: { version }, storage: { files: [{ path, contents }] } });

const hostWith = (bootstrap: string): FakeHost =>
  fakeHost()
    .withFile(facts.ignition.path, bootstrap, 0o600)
    .on(['mkdir', '-p', '/root/.docker'])
    .succeeds()
    .on(['mv', extracted, path])
    .answers((_argv, host) => {
      const file = host.files.get(extracted);
      if (file === undefined) return { exitCode: 1, stderr: 'No such file or directory' };
      host.withFile(path, file.bytes, file.mode);
      return host.remove(extracted, new AbortController().signal);
    });

describe('bootstrap/place-pull-secret', () => {
  it('puts it where podman reads it, for root alone, and nowhere else', async () => {
    const host = hostWith(withContents(plain));
    const { events } = await runStep(placePullSecret, { host, facts });
    expect(host.textOf(path)).toBe(secret);
    expect(host.files.get(path)?.mode).toBe(0o600);
    expect(host.files.has(extracted)).toBe(false);
    expect(host.ran).toEqual([
      ['mkdir', '-p', '/root/.docker'],
      ['mv', extracted, path],
    ]);
    expect(JSON.stringify([events, host.ran])).not.toContain('planted-secret');
  });

  it.each(['3.0.0', '3.1.0', '3.2.0', '3.3.0', '3.4.0', '3.5.0'])(
    'reads it from spec %s',
    async (version) => {
      const host = hostWith(withContents(plain, version));
      await runStep(placePullSecret, { host, facts });
      expect(host.textOf(path)).toBe(secret);
    },
  );

  it('unpacks what is compressed', async () => {
    const contents = { source: base64(gzipSync(secret)), compression: 'gzip' };
    const host = hostWith(withContents(contents));
    await runStep(placePullSecret, { host, facts });
    expect(host.textOf(path)).toBe(secret);
  });

  it.each([
    ['the config has none', '{"ignition":{"version":"3.2.0"}}', 'ignition.file-missing'],
    ['it lies elsewhere', withContents({ source: 'https://a.example' }), 'ignition.remote-source'],
    ['it is damaged', withContents({ source: 'data:;base64,!!' }), 'ignition.data-url'],
  ])('writes nothing when %s', async (_, bootstrap, code) => {
    const host = hostWith(bootstrap);
    const { failure } = await tryStep(placePullSecret, { host, facts });
    expect(failure).toMatchObject({ code });
    expect([...host.files.keys()]).toEqual([facts.ignition.path]);
  });

  it('says when bootstrap.ign is gone', async () => {
    await expect(runStep(placePullSecret, { host: fakeHost(), facts })).rejects.toMatchObject({
      code: 'file.not-read',
    });
  });

  it('leaves no copy behind when it cannot be moved', async () => {
    const host = hostWith(withContents(plain)).on(['mv', extracted, path]).fails(1, 'read-only');
    const { failure } = await tryStep(placePullSecret, { host, facts });
    expect(failure).toMatchObject({ code: 'command.failed' });
    expect(host.files.has(extracted)).toBe(false);
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(placePullSecret, () => ({ host: hostWith(withContents(plain)), facts }));
    expect.hasAssertions();
  });
});
