import { existsSync } from 'node:fs';
import { join } from 'node:path/posix';

/** Where the host keeps its programs; also searched when the container's PATH names less. */
const hostPath = [
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/sbin',
  '/usr/bin',
  '/sbin',
  '/bin',
] as const;

/**
 * Where our own PATH has a program. Other directories are not searched, so that whoever gives us a
 * PATH decides which program reaches the host; the answer names a file even where there is none.
 */
export function ownProgram(
  name: string,
  own: Readonly<Record<string, string | undefined>>,
): string {
  const given = entriesOf(own['PATH']);
  const places = (given.length > 0 ? given : hostPath).map((entry) => join(entry, name));
  return places.find((place) => existsSync(place)) ?? places[0] ?? name;
}

const entriesOf = (path = ''): readonly string[] => path.split(':').filter((entry) => entry !== '');

/**
 * The environment of every command on the host. It is built anew and never inherited: the token of
 * the service is in ours, and must reach no child (the agent being replaced leaked it to each).
 */
export function cleanEnvironment(
  own: Readonly<Record<string, string | undefined>>,
  added: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string>> {
  const path = [...entriesOf(own['PATH']), ...hostPath];
  return {
    PATH: [...new Set(path)].join(':'),
    HOME: '/root',
    TERM: 'dumb',
    // Output is parsed and matched, so it must not be translated.
    LC_ALL: 'C',
    ...added,
  };
}
