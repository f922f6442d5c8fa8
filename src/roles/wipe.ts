import { role, type Role } from '../engine/role.ts';
import { checkErase, type ErasedDisk, eraseDisk } from '../steps/disk/erase.ts';
import { lockDisk } from '../steps/disk/in-use.ts';
import { resolveDisk } from '../steps/disk/resolve.ts';
import type { InstallWorld } from '../steps/step.ts';

/** What a wipe is asked for, and who hears of its end. */
interface WipeRequest {
  /** What the owner of the disk named it by. */
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

/** What it works on: an install without a service. */
export interface WipeWorld {
  readonly config: InstallWorld['config'];
  readonly ports: Pick<InstallWorld['ports'], 'host' | 'clock'>;
}
