import { describe, expect, it } from 'vitest';
import { coreOsDisk, lsblkOutput, targetOf } from '../../../test/support/disk-samples.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost, type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { tryStep } from '../../../test/support/run-step.ts';
import { stagingPlaces } from '../../layering/registry/staging-registry.ts';
import { type BlockDevice } from '../disk/block-devices.ts';
import type { BuildRequest } from './facts.ts';
import { stopRegistry } from './staging-registry.ts';

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

describe('layering/stop-registry', () => {
  it('ends the registry, clears its data and gives the disk free', async () => {
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

  it('waits for the last that still works on the disk', async () => {
    const host = hostWith();
    let tries = 0;
    host.on(['umount', mount]).answers(() => {
      tries += 1;
      return tries < 3 ? { exitCode: 32, stderr: 'target is busy.' } : {};
    });
    const { failure, events } = await stop(host);
    expect(failure).toBeUndefined();
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'wait.updated', status: 'target is busy.' }),
    );
  });

  it('stops the registry after a run that had come further', async () => {
    const host = hostWith(mounted);
    await stop(host);
    expect(did(host)).toEqual([stopped]);
  });
});
