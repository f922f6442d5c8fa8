import { describe, expect, it } from 'vitest';
import {
  laneConfig,
  laneHost,
  laneRegistry,
  laneRendered,
} from '../../../test/layering/lane-host.ts';
import { coreOsDisk, targetOf, lsblkOutput } from '../../../test/support/disk-samples.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { rest, fakeHost, type FakeHost } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { stagingFiles, stagingPlaces } from '../../layering/registry/staging-registry.ts';
import type { BlockDevice } from '../disk/block-devices.ts';
import type { BuildRequest } from './facts.ts';
import { startRegistry, stopRegistry } from './staging-registry.ts';

describe('layering/start-registry', () => {
  const disk = coreOsDisk('sda');
  const stagingMount = stagingPlaces.mount;
  const facts = { rendered: laneRendered, disk: targetOf(disk) };
  const run = (host = laneHost()) => ({ host, facts, config: laneConfig });

  it('grows the root partition and starts the registry of the release', async () => {
    const { host } = run();
    const { value } = await runStep(startRegistry, run(host));
    expect(value).toEqual(laneRegistry);
    const grown = host.ran.filter(([program = '']) => /grow|^(mount|fsfreeze)$/.test(program));
    expect(grown).toEqual([
      ['growpart', '--free-percent=70', '/dev/sda', '4'],
      ['mount', '/dev/sda4', stagingMount],
      ['fsfreeze', '--unfreeze', stagingMount],
      ['xfs_growfs', stagingMount],
    ]);
    const started = host.ran.find((argv) => argv.includes('--detach')) ?? [];
    expect(started).toEqual(
      expect.arrayContaining([
        '--entrypoint',
        '/usr/bin/distribution',
        'quay.io/r/registry@sha256:2',
      ]),
    );
  });

  it('does not grow a partition of another disk that has taken the name', async () => {
    const { host } = run();
    host.on(['lsblk', rest]).prints(lsblkOutput({ ...disk, serial: 'S2' }));
    const target = targetOf({ ...disk, serial: 'S1' });
    const { failure } = await tryStep(startRegistry, {
      ...run(host),
      facts: { ...facts, disk: target },
    });
    expect(failure).toMatchObject({ code: 'disk.changed' });
    expect(host.ran.filter(([program = '']) => /grow|^mount/.test(program))).toEqual([]);
  });

  it('starts the configured registry image', async () => {
    const { host } = run();
    const config = { layering: { ...laneConfig.layering, registryImage: 'r.example.com/r:2' } };
    await runStep(startRegistry, { ...run(host), config });
    const started = host.ran.find((argv) => argv.includes('--detach')) ?? [];
    expect(started.at(-3)).toBe('r.example.com/r:2');
    expect(host.ran.some((argv) => argv.includes('--quiet'))).toBe(false);
  });

  it('stores secrets with mode 0600 and not in any command', async () => {
    const { host } = run();
    await runStep(startRegistry, run(host));
    const { passwords, authFile, curl } = stagingFiles;
    const modes = [passwords, authFile, curl].map((path) => host.files.get(path)?.mode);
    expect(modes).toEqual([0o600, 0o600, 0o600]);
    const password = /:(.+)"/.exec(host.textOf(curl) ?? '')?.[1] ?? '';
    expect(password).toHaveLength(64);
    expect(JSON.stringify(host.ran)).not.toContain(password);
  });

  it('fails when the registry does not accept its user', async () => {
    const clock = fakeClock();
    const host = laneHost(clock).on(['curl', rest]).prints('401');
    const { failure } = await tryStep(startRegistry, { ...run(host), clock });
    expect(failure).toMatchObject({
      code: 'wait.timed-out',
      message: expect.stringContaining('it answers 401') as string,
    });
  });

  it.each([['layering.disk-too-small', 'df', 'Avail\n1000000']])(
    'fails with %s',
    async (code, program, output) => {
      const host = laneHost().on([program, rest]).prints(output);
      expect((await tryStep(startRegistry, run(host))).failure).toMatchObject({ code });
    },
  );

  it('fails when the container does not start', async () => {
    const host = laneHost().on(['podman', 'run', '--detach', rest]).fails(125, 'no such image');
    expect((await tryStep(startRegistry, run(host))).failure).toMatchObject({
      code: 'layering.registry-not-started',
    });
  });

  it('fails when the release image is unknown', async () => {
    const host = laneHost().withFile('/usr/local/bin/release-image.sh', '');
    expect((await tryStep(startRegistry, run(host))).failure).toMatchObject({
      code: 'layering.no-registry-image',
    });
  });

  it('returns the release with the policy fallback-stock', async () => {
    const host = laneHost().on(['df', rest]).prints('Avail\n1000000');
    const config = {
      layering: { ...laneConfig.layering, failurePolicy: 'fallback-stock' as const },
    };
    const { value } = await runStep(startRegistry, { ...run(host), config });
    expect(host.ran.at(-1)).toEqual(['umount', stagingMount]);
    expect(value).toMatchObject({
      kind: 'release',
      why: expect.stringContaining('too-small') as string,
    });
  });
});

describe('layering/stop-registry', () => {
  const { mount, work } = stagingPlaces;

  const mounted: BlockDevice = coreOsDisk('sda');
  const sda: BlockDevice = {
    ...mounted,
    children: mounted.children.map((part) =>
      part.label === 'root' ? { ...part, mountpoints: [mount] } : part,
    ),
  };

  const hostWith = (disk = sda): FakeHost =>
    fakeHost().on([rest]).succeeds().on(['lsblk', rest]).prints(lsblkOutput(disk));

  const on: BuildRequest = { kind: 'on', pools: [], why: '' };

  const stop = (host: FakeHost, differs: object = {}) =>
    tryStep(stopRegistry, {
      config: { role: 'bootstrap', layering: { mode: 'on' } },
      host,
      clock: fakeClock(),
      facts: {
        request: on,
        disk: targetOf(sda),
        ...differs,
      },
    });

  const did = (host: FakeHost): readonly string[] =>
    host.ran.map((argv) => argv.join(' ')).filter((command) => !command.startsWith('lsblk'));

  const stopped = 'podman rm --force --ignore --time 10 bootwright-registry';

  it('stops the registry, removes its data and unmounts the disk', async () => {
    const host = hostWith();
    const { failure } = await stop(host);
    expect(failure).toBeUndefined();
    expect(did(host)).toEqual([
      stopped,
      `umount --recursive --quiet ${work}/storage/overlay`,
      `rm --recursive --force --one-file-system ${work}`,
      `sync --file-system ${mount}`,
      `umount ${mount}`,
    ]);
  });

  it('retries a busy unmount', async () => {
    const host = hostWith();
    let attempts = 0;
    host.on(['umount', mount]).answers(() => {
      attempts += 1;
      return attempts < 3 ? { exitCode: 32, stderr: 'target is busy.' } : {};
    });
    const { failure, events } = await stop(host);
    expect(failure).toBeUndefined();
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'wait.updated', status: 'target is busy.' }),
    );
  });

  it('only stops the registry when the disk is unmounted', async () => {
    const host = hostWith(mounted);
    await stop(host);
    expect(did(host)).toEqual([stopped]);
  });
});
