import { describe, expect, it } from 'vitest';
import {
  builtDigest,
  laneConfig,
  laneHost,
  lanePool,
  laneRegistry,
} from '../../../test/layering/lane-host.ts';
import { PULL_SECRET_PATH } from '../../ignition/resource.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { publishImages } from './publish-images.ts';

const staged = `127.0.0.1:22626/layering/os@${builtDigest}`;
const built = { ...lanePool, staged, digest: builtDigest };
const facts = { registry: laneRegistry, built: { kind: 'pools' as const, pools: [built] } };
const run = (host = laneHost()) => ({ host, facts, config: laneConfig });

describe('layering/publish-images', () => {
  it('refuses a registry that makes another image of it', async () => {
    const other = `sha256:${'9'.repeat(64)}`;
    const host = laneHost().on(['skopeo', 'inspect', '--no-tags', rest]).prints(other);
    expect((await tryStep(publishImages, run(host))).failure).toMatchObject({
      code: 'layering.digest-changed',
      context: { sent: builtDigest, found: other },
    });
  });

  it('asks for it as a node will, with the pull secret of the cluster and nothing else', async () => {
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
  ])('fails with %s where nodes could not pull it: %s', async (code, stderr) => {
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
