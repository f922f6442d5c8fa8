import { setTimeout as pause } from 'node:timers/promises';
import { seconds, type Millis } from '../../model/duration.ts';

/** From the polite signal to the one that cannot be refused. */
const patience: Millis = seconds(2);

/** When a group that does not even die of SIGKILL (a disk that hangs in the kernel) is left. */
const givingUp: Millis = seconds(3.5);

const lookEvery: Millis = 20;

/**
 * Ends a process group: SIGTERM, then SIGKILL after 2 s; resolves when nobody is left, after 3.5 s
 * at the latest. The group is that of the first child and holds what the child started too, which
 * is the point: the child is nsenter, and the program that writes the disk is behind it.
 */
export async function stopGroup(leader: number): Promise<void> {
  if (!signalGroup(leader, 'SIGTERM')) return;
  const since = performance.now();
  let isKilled = false;
  while (performance.now() - since < givingUp) {
    await pause(lookEvery);
    if (!signalGroup(leader, 0)) return;
    if (!isKilled && performance.now() - since >= patience) {
      isKilled = true;
      signalGroup(leader, 'SIGKILL');
    }
  }
}

/** Sends a signal to every process of a group; false when there is none left. */
function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-leader, signal);
  } catch {
    return false;
  }
}
