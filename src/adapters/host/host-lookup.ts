import { lookup as systemLookup } from 'node:dns';
import { readFile, writeFile } from 'node:fs/promises';
import type { LookupFunction } from 'node:net';
import { join } from 'node:path/posix';
import { HOST_ROOT, isInContainer, pathOnHost } from '../host-root.ts';

/**
 * A lookup by the host's present resolver settings. A container has copies of the files from its
 * start, and a bootstrap host gets its own name service during the run. So the host's files are
 * copied before the first lookup, and after each failed one; if they have changed, the lookup is
 * repeated once.
 */
export function hostLookup(
  root: string,
  copy: () => Promise<boolean> = () => copyToContainer(root),
  ask: LookupFunction = systemLookup,
): LookupFunction {
  let first: Promise<boolean> | undefined;
  const find: LookupFunction = (name, options, answer) =>
    ask(name, options, (error, ...found) => {
      if (error === null) answer(null, ...found);
      else
        void copy().then((isNew) => {
          if (isNew) ask(name, options, answer);
          else answer(error, ...found);
        });
    });
  return (name, options, answer) => {
    first ??= copy();
    void first.then(() => find(name, options, answer));
  };
}

/** Copies the files only in a container: elsewhere they belong to the system. */
const copyToContainer = async (root: string): Promise<boolean> =>
  root === HOST_ROOT && (await isInContainer()) && (await copyNames(root, '/etc'));

/**
 * Copies resolv.conf and hosts of a host to a folder, in place, as podman mounts these two files.
 * The container's own entries in hosts (`--add-host`) stay after the copied ones. A file that
 * cannot be read or written stays unchanged.
 * @returns whether one of the files has changed
 */
export async function copyNames(root: string, to: string): Promise<boolean> {
  const copy = async (
    name: string,
    merge: (theirs: string, own: string) => string,
  ): Promise<boolean> => {
    try {
      const theirs = await readFile(await pathOnHost(root, `/etc/${name}`), 'utf8');
      const at = join(to, name);
      const own = await readFile(at, 'utf8');
      const next = merge(theirs, own);
      if (next !== own) await writeFile(at, next);
      return next !== own;
    } catch {
      return false;
    }
  };
  const isNew = [
    await copy('resolv.conf', (theirs) => theirs),
    await copy('hosts', (theirs, own) => {
      const lines = new Set(theirs.split('\n'));
      const added = own.split('\n').filter((line) => !lines.has(line));
      return [theirs.replace(/\n?$/, '\n'), ...added.map((line) => `${line}\n`)].join('');
    }),
  ];
  return isNew.includes(true);
}
