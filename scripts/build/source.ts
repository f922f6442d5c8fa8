import { execFileSync, type StdioOptions } from 'node:child_process';

/**
 * Files of a tree that the program is made of. Other files, such as an archive that was written
 * there, do not change it.
 */
const inputs = [
  ...['src', 'scripts', 'Containerfile', 'LICENSE', 'package.json', 'package-lock.json'],
];

/**
 * The name of the commit that a tree is at; empty where the inputs have changes that no commit has,
 * or the tree is not under git. The build of the image, which has no git, is given it in
 * `REVISION`.
 */
export function revisionOf(tree: string): string {
  const git = (...args: readonly string[]): string => {
    const stdio = ['ignore', 'pipe', 'ignore'] satisfies StdioOptions;
    return execFileSync('git', ['-C', tree, ...args], { encoding: 'utf8', stdio }).trim();
  };
  try {
    return git('status', '--porcelain', '--', ...inputs) === '' ? git('rev-parse', 'HEAD') : '';
  } catch {
    return process.env['REVISION'] ?? '';
  }
}
