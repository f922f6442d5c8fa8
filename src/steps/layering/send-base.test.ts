import { describe, expect, it } from 'vitest';
import {
  baseDigest,
  laneConfig,
  laneHost,
  laneRegistry,
  laneRendered,
} from '../../../test/layering/lane-host.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { sendBase } from './publish-images.ts';

const facts = { rendered: laneRendered, registry: laneRegistry };
const tag = `base-${'a'.repeat(32)}`;
const repository = 'registry.rig.test/ocl/master';

/** Every registry has the base under its own digest. */
const hostWithBase = (): FakeHost =>
  laneHost().on(['skopeo', 'inspect', '--no-tags', rest]).prints(baseDigest);
const run = (host = hostWithBase()) => ({ host, facts, config: laneConfig, clock: fakeClock() });

describe('layering/send-base', () => {
  it('sends the base byte by byte, with the push Secret, from the registry of the host', async () => {
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

  it('fails before anything is built where nobody may push', async () => {
    const host = hostWithBase().on(['skopeo', 'copy', rest]).fails(1, 'denied: no write access');
    const { failure } = await tryStep(sendBase, run(host));
    expect(failure).toMatchObject({ code: 'layering.registry-denied' });
  });
});
