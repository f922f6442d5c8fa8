import { spawnSync } from 'node:child_process';

/** Those of the given Debian packages that are not installed on this machine, in the given order. */
export function missingPackages(names: readonly string[]): string[] {
  const format = '${Package} ${db:Status-Status}\n';
  const query = spawnSync('dpkg-query', ['-W', '-f', format, ...names], { encoding: 'utf8' });
  const installed = query.error === undefined ? installedIn(query.stdout) : new Set<string>();
  return names.filter((name) => !installed.has(name));
}

/** Whether this machine keeps its packages as Debian does. */
export function hasDpkg(): boolean {
  return spawnSync('dpkg-query', ['--version']).error === undefined;
}

/** The packages that a listing of `name status` lines calls installed. */
export function installedIn(listing: string): Set<string> {
  const lines = listing.split('\n').filter((line) => line.endsWith(' installed'));
  return new Set(lines.map((line) => line.split(' ')[0] ?? ''));
}

/** Whether this process may install packages, mount and change root. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}
