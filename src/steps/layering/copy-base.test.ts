import { describe, expect, it } from 'vitest';
import {
  laneConfig,
  laneHost,
  laneRegistry,
  laneRendered,
} from '../../../test/layering/lane-host.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { copyBase } from './publish-images.ts';

const facts = { rendered: laneRendered, registry: laneRegistry };
const run = (host = laneHost()) => ({ host, facts, config: laneConfig });
const copies = (host: ReturnType<typeof laneHost>) =>
  host.ran.filter(([program, action]) => program === 'skopeo' && action === 'copy');

describe('layering/copy-base', () => {
  it('takes of a list of images that for this host', async () => {
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
    ['a list without it', 1, '', 'no image found in manifest list for architecture amd64'],
  ])('refuses %s for another architecture', async (...[, exitCode, stdout, stderr]) => {
    const host = laneHost();
    host.on(['skopeo', 'inspect', '--config', rest]).fails(exitCode, stderr, stdout);
    expect((await tryStep(copyBase, run(host))).failure).toMatchObject({
      code: 'layering.base-architecture',
    });
  });

  it('tries three times when the network fails, and continues when it is back', async () => {
    const clock = fakeClock();
    const lost = { exitCode: 1, stderr: 'read: connection reset by peer' };
    const host = laneHost(clock).on(['skopeo', 'copy', rest]).inTurn(lost, lost, '');
    const { notes } = await runStep(copyBase, { ...run(host), clock });
    expect(copies(host)).toHaveLength(3);
    expect(notes.filter((note) => note.includes('is retried'))).toHaveLength(2);
  });
});
