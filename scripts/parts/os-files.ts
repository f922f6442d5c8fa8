import { join } from 'node:path';

const folder = join(import.meta.dirname, '..', 'os');

/** The path of a file or folder among the sources of Lab CoreOS, `scripts/os`. */
export function osFile(name: string): string {
  return join(folder, name);
}
