import { role, type Role } from '../engine/role.ts';
import { checkErase, type ErasedDisk, eraseDisk } from '../steps/disk/erase.ts';
import { lockDisk } from '../steps/disk/in-use.ts';
import { resolveDisk } from '../steps/disk/resolve.ts';
import type { InstallWorld } from '../steps/step.ts';

/** Inputs of a wipe: the confirmation, and the receiver of its result. */
interface WipeRequest {
  /** The value of `--confirm`: the serial number of the disk. */
  readonly confirm: string | undefined;
  readonly report: (erased: ErasedDisk) => void;
}

/** Erases the install disk; no stage is reported. */
export const wipe = ({ confirm, report }: WipeRequest): Role<WipeWorld> =>
  role<WipeWorld>('wipe', {
    title: 'Erases a disk of this host for its next owner',
    ladder: 'worker',
    steps: [resolveDisk, lockDisk, checkErase(confirm), eraseDisk(report)],
  });

/** The world of a wipe: an install without a service. */
export interface WipeWorld {
  readonly config: InstallWorld['config'];
  readonly ports: Pick<InstallWorld['ports'], 'host' | 'clock'>;
}
