import type { BlockDevice } from '../../src/steps/disk/lsblk.ts';
import { lsblkOutput } from './disk-samples.ts';
import { type FakeHost, fakeHost, rest } from './fake-host.ts';

/** A live host on which every command succeeds, with a disk that an operating system can be put on. */
export const deployableHost = (
  disk: BlockDevice,
  commandLine = 'ignition.platform.id=metal',
): FakeHost =>
  fakeHost()
    .on([rest])
    .succeeds()
    .on(['uname', '-m'])
    .prints('x86_64')
    .on(['lsblk', rest])
    .prints(lsblkOutput(disk))
    .on(['cat', '/proc/cmdline'])
    .prints(commandLine);
