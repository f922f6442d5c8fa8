import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost, type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { applyIgnition, placePullSecret } from './apply-ignition.ts';

const secret = '{"auths":{"registry.example":{"auth":"planted-secret-5b0c"}}}';
const path = '/root/.docker/config.json';
const extracted = '/opt/extracted_from_ignition.json';
const facts = { ignition: { path: '/opt/install-dir/bootstrap.ign', sha256: '' } };

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
  it('moves the pull secret to the path of podman with mode 0600', async () => {
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

  it('fails when bootstrap.ign is missing', async () => {
    await expect(runStep(placePullSecret, { host: fakeHost(), facts })).rejects.toMatchObject({
      code: 'file.not-read',
    });
  });

  it('removes the extracted copy when it cannot be moved', async () => {
    const host = hostWith(withContents(plain)).on(['mv', extracted, path]).fails(1, 'read-only');
    const { failure } = await tryStep(placePullSecret, { host, facts });
    expect(failure).toMatchObject({ code: 'command.failed' });
    expect(host.files.has(extracted)).toBe(false);
  });
});

const mco = 'quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:1';
const config: ConfigInput = { images: { mco } };
const podman = ['podman', 'run', rest] as const;

describe('bootstrap/apply-ignition', () => {
  it('makes three attempts with pauses', async () => {
    const clock = fakeClock();
    const host = fakeHost()
      .on(podman)
      .inTurn({ exitCode: 125, stderr: 'i/o timeout' }, { exitCode: 125 }, {});
    await runStep(applyIgnition, { config, host, facts, clock });
    expect(host.ran).toHaveLength(3);
    expect(clock.slept.filter((pause) => pause === 5000)).toHaveLength(2);
  });

  it('fails with the last error of podman after three attempts', async () => {
    const host = fakeHost().on(podman).fails(125, 'unauthorized: access to the resource');
    const { failure } = await tryStep(applyIgnition, { config, host, facts });
    expect(failure).toMatchObject({
      code: 'bootstrap.not-applied',
      message: expect.stringContaining('unauthorized') as string,
    });
    expect(host.ran).toHaveLength(3);
  });

  const release = 'quay.io/openshift-release-dev/ocp-release@sha256:2';
  const named = { ignition: { ...facts.ignition, releaseImage: release } };
  const ask = `podman run --quiet --rm --net=none --authfile ${path} ${release} image machine-config-operator`;
  const derived = `quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:${'a'.repeat(64)}`;

  it('reads the image of the machine-config-operator from the release by default', async () => {
    const host = fakeHost().on(podman).succeeds();
    host.on(ask.split(' ')).answers(() => ({ stdout: `${derived}\n` }));
    await runStep(applyIgnition, { host, facts: named });
    expect(host.ran.map((argv) => argv.join(' '))).toEqual([
      ask,
      expect.stringContaining(` --entrypoint /usr/bin/machine-config-daemon ${derived} start `),
    ]);
  });

  it.each(['', 'no image', `--privileged@sha256:${'a'.repeat(64)}`, 'quay.io/mco:latest'])(
    'refuses output without an image by digest: %j',
    async (stdout) => {
      const host = fakeHost()
        .on(ask.split(' '))
        .answers(() => ({ stdout }));
      const { failure } = await tryStep(applyIgnition, { host, facts: named });
      expect(failure).toMatchObject({
        code: 'bootstrap.no-mco-image',
        kind: 'input',
        message: `${release} names no machine-config-operator by digest`,
      });
      expect(host.unknown).toEqual([]);
    },
  );

  it('fails with the error of podman when the release cannot be run', async () => {
    const host = fakeHost().on(ask.split(' ')).fails(125, 'unauthorized: access to the release');
    const { failure } = await tryStep(applyIgnition, { host, facts: named });
    expect(failure).toMatchObject({
      code: 'bootstrap.not-applied',
      message: expect.stringContaining('unauthorized') as string,
    });
    expect(host.ran).toHaveLength(3);
  });
});
