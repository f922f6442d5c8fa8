import { lookup as systemLookup } from 'node:dns';
import { readFile, writeFile } from 'node:fs/promises';
import type { LookupFunction } from 'node:net';
import { join } from 'node:path/posix';
import { HOST_ROOT } from '../../model/host-root.ts';
import { isInContainer, pathOnHost } from '../host-root.ts';

/**
 * A lookup by the name service of the host as it is now: a container has the files of the moment at
 * which it was started, and a bootstrap host gets its own name service in the middle of the run. So
 * the files of the host are copied before the first lookup, and after each one that fails; where
 * they have changed, the name is asked for once more.
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

/** Copies in a container alone: elsewhere, these are the files of somebody else. */
const copyToContainer = async (root: string): Promise<boolean> =>
  root === HOST_ROOT && (await isInContainer()) && (await copyNames(root, '/etc'));

/**
 * Copies resolv.conf and hosts of a host to a folder, in place, as podman mounts these two files.
 * What the container adds to its hosts (`--add-host`) stays behind them. What cannot be read or
 * written stays.
 * @returns whether one of them has changed
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
