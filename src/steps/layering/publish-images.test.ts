import { describe, expect, it } from 'vitest';
import {
  builtDigest,
  laneConfig,
  laneHost,
  lanePool,
  laneRegistry,
  laneRendered,
  baseDigest,
} from '../../../test/layering/lane-host.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { rest, type FakeHost } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { PULL_SECRET_PATH } from '../../ignition/resource.ts';
import { publishImages, copyBase, sendBase } from './publish-images.ts';

describe('layering/publish-images', () => {
  const staged = `127.0.0.1:22626/layering/os@${builtDigest}`;
  const built = { ...lanePool, staged, digest: builtDigest };
  const facts = { registry: laneRegistry, built: { kind: 'pools' as const, pools: [built] } };
  const run = (host = laneHost()) => ({ host, facts, config: laneConfig });

  it('refuses a registry that stores another digest', async () => {
    const other = `sha256:${'9'.repeat(64)}`;
    const host = laneHost().on(['skopeo', 'inspect', '--no-tags', rest]).prints(other);
    expect((await tryStep(publishImages, run(host))).failure).toMatchObject({
      code: 'layering.digest-changed',
      context: { sent: builtDigest, found: other },
    });
  });

  it('inspects the image with the pull secret of the cluster, as a node will', async () => {
    const { host } = run();
    await runStep(publishImages, run(host));
    const last = host.ran.findLast(([, action]) => action === 'inspect') ?? [];
    expect(last.join(' ')).toContain(`--authfile ${PULL_SECRET_PATH} docker://registry.rig.test/`);
    expect(last.at(-1)).toBe(`docker://registry.rig.test/ocl/master@${builtDigest}`);
  });

  it.each([
    ['layering.not-pullable', 'unauthorized: authentication required'],
    ['layering.not-pullable', 'manifest unknown'],
    ['layering.registry-unreachable', 'dial tcp 192.0.2.9:443: connect: connection refused'],
  ])('fails with %s when nodes could not pull the image: %s', async (code, stderr) => {
    const clock = fakeClock();
    const host = laneHost(clock);
    host
      .on(['skopeo', 'inspect', '--no-tags', rest])
      .answers((argv) =>
        argv.includes(PULL_SECRET_PATH) ? { exitCode: 1, stderr } : { stdout: builtDigest },
      );
    const { failure } = await tryStep(publishImages, { ...run(host), clock });
    expect(failure).toMatchObject({ code });
  });

  it.each([
    ['layering.registry-unreachable', 'dial tcp 192.0.2.9:443: connect: connection refused', 3],
    ['layering.registry-denied', 'unauthorized: authentication required', 1],
    ['layering.copy-failed', 'no space left on device', 1],
  ])('fails with %s', async (code, stderr, times) => {
    const clock = fakeClock();
    const host = laneHost(clock).on(['skopeo', 'copy', rest]).fails(1, stderr);
    const { failure } = await tryStep(publishImages, { ...run(host), clock });
    expect(failure).toMatchObject({ code });
    expect(host.ran.filter(([, action]) => action === 'copy')).toHaveLength(times);
  });
});

describe('layering/copy-base', () => {
  const facts = { rendered: laneRendered, registry: laneRegistry };
  const run = (host = laneHost()) => ({ host, facts, config: laneConfig });
  const copies = (host: ReturnType<typeof laneHost>) =>
    host.ran.filter(([program, action]) => program === 'skopeo' && action === 'copy');

  it('copies the image for this architecture from a manifest list', async () => {
    const digest = `sha256:${'e'.repeat(64)}`;
    const platform = { architecture: 'amd64', os: 'linux' };
    const host = laneHost()
      .on(['skopeo', 'inspect', '--raw', rest])
      .prints(JSON.stringify({ manifests: [{ digest, platform }] }))
      .on(['skopeo', 'inspect', '--no-tags', rest])
      .prints(digest);
    await runStep(copyBase, run(host));
    expect(copies(host)[0]).toContain(`docker://registry.rig.test/release/rhel-coreos@${digest}`);
  });

  it.each([
    ['an image', 0, '{"architecture":"arm64"}', ''],
    ['a manifest list', 1, '', 'no image found in manifest list for architecture amd64'],
  ])('refuses %s for another architecture', async (...[, exitCode, stdout, stderr]) => {
    const host = laneHost();
    host.on(['skopeo', 'inspect', '--config', rest]).fails(exitCode, stderr, stdout);
    expect((await tryStep(copyBase, run(host))).failure).toMatchObject({
      code: 'layering.base-architecture',
    });
  });

  it('retries twice after network errors', async () => {
    const clock = fakeClock();
    const lost = { exitCode: 1, stderr: 'read: connection reset by peer' };
    const host = laneHost(clock).on(['skopeo', 'copy', rest]).inTurn(lost, lost, '');
    const { notes } = await runStep(copyBase, { ...run(host), clock });
    expect(copies(host)).toHaveLength(3);
    expect(notes.filter((note) => note.includes('is retried'))).toHaveLength(2);
  });
});

describe('layering/send-base', () => {
  const facts = { rendered: laneRendered, registry: laneRegistry };
  const tag = `base-${'a'.repeat(32)}`;
  const repository = 'registry.rig.test/ocl/master';

  /** Every registry has the base under its own digest. */
  const hostWithBase = (): FakeHost =>
    laneHost().on(['skopeo', 'inspect', '--no-tags', rest]).prints(baseDigest);
  const run = (host = hostWithBase()) => ({ host, facts, config: laneConfig, clock: fakeClock() });

  it('copies the base image with its digest from the registry of the host', async () => {
    const { host } = run();
    await runStep(sendBase, run(host));
    const copies = host.ran.filter(([, action]) => action === 'copy');
    expect(copies).toHaveLength(1);
    expect(copies[0]).toContain('--preserve-digests');
    expect(copies[0]?.slice(-2)).toEqual([
      `docker://127.0.0.1:22626/layering/os:${tag}`,
      `docker://${repository}:${tag}`,
    ]);
    expect(JSON.stringify(host.ran)).not.toContain('hidden');
  });

  it('fails when nodes may not pull the base image', async () => {
    const host = hostWithBase();
    host
      .on(['skopeo', 'inspect', '--no-tags', rest])
      .answers((argv) =>
        argv.includes(PULL_SECRET_PATH)
          ? { exitCode: 1, stderr: 'unauthorized' }
          : { stdout: baseDigest },
      );
    expect((await tryStep(sendBase, run(host))).failure).toMatchObject({
      code: 'layering.not-pullable',
    });
  });

  it('fails when the push is denied', async () => {
    const host = hostWithBase().on(['skopeo', 'copy', rest]).fails(1, 'denied: no write access');
    const { failure } = await tryStep(sendBase, run(host));
    expect(failure).toMatchObject({ code: 'layering.registry-denied' });
  });
});
