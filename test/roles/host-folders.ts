import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** In memory if possible: the thousands of processes flush each file that they write. */
const place = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const prefix = 'bootwright-processes-';

/** The folder of this process; the next process removes the folder of a killed one. */
let folder: string | undefined;

/** A new folder for the files of a host. */
export function hostFolder(): string {
  if (folder === undefined) {
    removeAbandoned();
    folder = mkdtempSync(join(place, `${prefix}${process.pid}-`));
  }
  return mkdtempSync(join(folder, 'host-'));
}

/** Removes every host of this process. */
export function removeHosts(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true });
  folder = undefined;
}

function removeAbandoned(): void {
  for (const name of readdirSync(place).filter((one) => one.startsWith(prefix))) {
    const [pid = ''] = name.slice(prefix.length).split('-');
    if (!existsSync(`/proc/${pid}`)) rmSync(join(place, name), { recursive: true, force: true });
  }
}
