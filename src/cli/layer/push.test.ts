import { describe, expect, it } from 'vitest';
import { baseDigest, builtDigest, laneHost } from '../../../test/layering/lane-host.ts';
import { httpd, machineConfig, osConfig } from '../../../test/layering/samples.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { any, type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { builtFrom, builtFromLabel } from '../../layering/build/built-from.ts';
import { planBuild } from '../../layering/build/plan.ts';
import type { ImageJob } from './image-work.ts';
import { pushBuilt } from './push.ts';

const config = osConfig();
const sum = builtFrom(planBuild({ config, machineConfig: machineConfig() }), machineConfig());

/** A machine whose store has an image with these labels. */
const machine = (labels: object): FakeHost => {
  const host = laneHost();
  host.on(['skopeo', 'inspect', '--config', any]).answers((argv) => {
    const isLocal = argv.at(-1)?.startsWith('containers-storage:') === true;
    return JSON.stringify({ architecture: 'amd64', config: { Labels: isLocal ? labels : {} } });
  });
  host
    .on(['skopeo', 'inspect', '--no-tags', rest])
    .answers((argv) => (argv.at(-1)?.includes(':base-') === true ? baseDigest : builtDigest));
  return host;
};

const job = (host: FakeHost, more: Partial<ImageJob> = {}): ImageJob => ({
  work: {
    host,
    clock: fakeClock(),
    signal: new AbortController().signal,
    env: {},
    progress: () => undefined,
    note: () => undefined,
  },
  config,
  machineConfig: machineConfig(),
  builder: { name: 'podman', store: { storage: '/s', run: '/r' } },
  scratch: '/scratch',
  access: {},
  mirrors: {},
  ...more,
});

/** What went to a registry, in order. */
const sent = ({ ran }: FakeHost): readonly string[] =>
  ran
    .filter((argv) => argv.includes('push') || argv.includes('copy'))
    .map((argv) => argv.at(-1) ?? '');

describe('layer push', () => {
  it('pushes what was built of these files, behind its base', async () => {
    const host = machine({ [builtFromLabel]: sum });
    expect(await pushBuilt(job(host))).toEqual({
      digest: builtDigest,
      pullSpec: `registry.rig.test/ocl/master@${builtDigest}`,
    });
    expect(sent(host)).toEqual([
      `docker://registry.rig.test/ocl/master:base-${baseDigest.slice(7, 39)}`,
      'docker://registry.rig.test/ocl/master:latest',
    ]);
  });

  it.each<[string, FakeHost, Partial<ImageJob>, RegExp]>([
    [
      'after an edit of the Containerfile',
      machine({ [builtFromLabel]: sum }),
      { config: osConfig({ containerFile: [{ content: `${httpd}# more\n` }] }) },
      /was built from another Containerfile/,
    ],
    [
      'of another MachineConfig by the same name',
      machine({ [builtFromLabel]: sum }),
      { machineConfig: machineConfig({ kernelArguments: ['a'] }) },
      /was built from another/,
    ],
    ['that does not say of what it was built', machine({}), {}, /was built from another/],
  ])('sends nothing %s', async (...[, host, change, message]) => {
    await expect(pushBuilt(job(host, change))).rejects.toMatchObject({
      code: 'layering.not-built',
      kind: 'input',
      message: expect.stringMatching(message) as string,
      hint: expect.stringContaining('build it again: bootwright layer build') as string,
    });
    expect(sent(host)).toEqual([]);
  });

  it.each([
    [
      'layering.not-built',
      'reference "[overlay@/s+/r]localhost/x:y" does not resolve to an image ID: identifier is not an image',
    ],
    ['layering.image-unreadable', 'overlay is not supported over overlayfs'],
  ])('sends nothing where there is no image that can be read: %s', async (code, stderr) => {
    const host = laneHost();
    host.on(['skopeo', 'inspect', '--config', any]).fails(1, stderr);
    await expect(pushBuilt(job(host))).rejects.toMatchObject({ code });
    expect(sent(host)).toEqual([]);
  });
});
