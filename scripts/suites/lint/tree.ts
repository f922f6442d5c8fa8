import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { ESLint } from 'eslint';
import type { Sources } from './keys.ts';

/** All that a rule may read of this tree: sources and data that git tracks or does not ignore. */
export function readTree(): Sources {
  const argv = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const names = new Set(execFileSync('git', argv, { encoding: 'utf8' }).split('\0'));
  const wanted = [...names].filter(
    // Git goes on naming a file that is deleted and not yet committed so.
    (name) => /\.([cm]?[jt]s|json)$/.test(name) && existsSync(name),
  );
  return new Map(wanted.sort().map((name) => [name, readFileSync(name, 'utf8')]));
}

/** The files of the tree that ESLint lints by itself. */
export async function lintedPaths(tree: Sources): Promise<readonly string[]> {
  const eslint = new ESLint();
  const sources = [...tree.keys()].filter((path) => /\.[cm]?[jt]s$/.test(path));
  const ignored = await Promise.all(sources.map((path) => eslint.isPathIgnored(path)));
  return sources.filter((_, index) => ignored[index] === false);
}
