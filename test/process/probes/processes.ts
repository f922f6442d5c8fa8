import { readdirSync, readFileSync } from 'node:fs';

/** Command lines of all processes that contain a word. */
export function processesWith(word: string): readonly string[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .map((name) => commandLineOf(name))
    .filter((line) => line.includes(word));
}

function commandLineOf(process: string): string {
  try {
    return readFileSync(`/proc/${process}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return '';
  }
}
