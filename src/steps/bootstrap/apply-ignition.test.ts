import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost, rest } from '../../../test/support/fake-host.ts';
import { isSafeToRepeat, runStep, tryStep } from '../../../test/support/run-step.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { applyArgv, applyIgnition } from './apply-ignition.ts';

const facts = { ignition: { path: '/opt/install-dir/bootstrap.ign' } };
const mco = 'quay.io/openshift-release-dev/ocp-v4.0-art-dev@sha256:1';
const config: ConfigInput = { images: { mco } };
const podman = ['podman', 'run', rest] as const;

describe('bootstrap/apply-ignition', () => {
  it('runs the command of the agent that is replaced, with the proxies', async () => {
    const host = fakeHost().on(podman).succeeds();
    await runStep(applyIgnition, {
      config: { ...config, proxy: { http: 'http://proxy.example:3128' } },
      host,
      facts,
    });
    expect(host.ran.map((argv) => argv.join(' '))).toEqual([
      `podman run --net host --pid=host --volume /:/rootfs:rw --volume /usr/bin/rpm-ostree:/usr/bin/rpm-ostree --privileged --entrypoint /usr/bin/machine-config-daemon ${mco} start --node-name localhost --root-mount /rootfs --once-from /opt/install-dir/bootstrap.ign --skip-reboot`,
    ]);
    expect(host.calls[0]?.env).toMatchObject({ HTTP_PROXY: 'http://proxy.example:3128' });
  });

  it('tries three times, with pauses', async () => {
    const clock = fakeClock();
    const host = fakeHost()
      .on(podman)
      .inTurn({ exitCode: 125, stderr: 'i/o timeout' }, { exitCode: 125 }, {});
    await runStep(applyIgnition, { config, host, facts, clock });
    expect(host.ran).toHaveLength(3);
    expect(clock.slept.filter((pause) => pause === 5000)).toHaveLength(2);
  });

  it('ends with what podman said last', async () => {
    const host = fakeHost().on(podman).fails(125, 'unauthorized: access to the resource');
    const { failure } = await tryStep(applyIgnition, { config, host, facts });
    expect(failure).toMatchObject({
      code: 'bootstrap.not-applied',
      message: expect.stringContaining('unauthorized') as string,
    });
    expect(host.ran).toHaveLength(3);
  });

  it('runs nothing without the image', async () => {
    const host = fakeHost();
    const { failure } = await tryStep(applyIgnition, { host, facts });
    expect(failure).toMatchObject({ code: 'bootstrap.no-mco-image', kind: 'input' });
    expect(host.unknown).toEqual([]);
  });

  it('is safe to repeat', async () => {
    await isSafeToRepeat(applyIgnition, () => {
      const host = fakeHost();
      host.on(applyArgv(mco, facts.ignition.path)).answers(() => {
        host.withFile('/opt/openshift/openshift/cluster.yaml', 'kind: x');
      });
      return { config, host, facts };
    });
    expect.hasAssertions();
  });
});
