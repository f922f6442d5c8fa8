// A Debian 12 with nodejs, npm and git in addition to its base packages, as a newcomer's machine.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allSuites } from '../../scripts/suites/all.ts';
import { scenarioNames } from '../../mocks/lab/scenario.ts';
import { coreosInstaller } from '../../scripts/parts/coreos-installer.ts';
import { ensurePart } from '../../scripts/parts/ensure.ts';
import { olderNpm, olderNpmPath } from '../../scripts/parts/older-npm.ts';
import { isHere, partFolder } from '../../scripts/parts/part.ts';
import { nmstatectl } from '../../scripts/parts/nmstatectl.ts';
import { ostreeContainer } from '../../scripts/parts/ostree-container.ts';
import { s3Server } from '../../scripts/parts/s3-server.ts';

const top = resolve(import.meta.dirname, '../..');
const bin = mkdtempSync(join(tmpdir(), 'bootwright-bare-'));

beforeAll(() => {
  const listing = ['-f', '${Essential} ${Priority} ${Package}\\n', '-W'];
  const packages = execFileSync('dpkg-query', listing, { encoding: 'utf8' })
    .split('\n')
    .filter((line) => /^yes | required | ^git$/.test(line))
    .map((line) => line.split(' ').at(-1) ?? '');
  const files = execFileSync('dpkg', ['--listfiles', ...packages, 'git'], { encoding: 'utf8' });
  for (const path of files.match(/^(?:\/usr)?\/s?bin\/.+$/gm) ?? [])
    if (!existsSync(join(bin, basename(path)))) symlinkSync(path, join(bin, basename(path)));
  // In Debian 12, sh is dash, by a link that no package lists.
  if (!existsSync(join(bin, 'sh'))) symlinkSync('/bin/sh', join(bin, 'sh'));
});

afterAll(() => rmSync(bin, { recursive: true }));

/** Runs a script of the tree as on such a machine, with the Node of Debian 12. */
function run(...argv: readonly [string, ...string[]]) {
  const [program, ...args] = argv;
  const PATH = [...olderNpmPath(partFolder(olderNpm), '9.2.0'), bin].join(':');
  const env = { PATH, HOME: process.env['HOME'], XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'] };
  const { status, stdout, stderr } = spawnSync(join(top, program), args, { env, encoding: 'utf8' });
  return { exitCode: status, stdout, stderr };
}

describe('the first commands of README.md', () => {
  it('scripts/lab runs', async () => {
    const { exitCode, stdout, stderr } = run('scripts/lab', '--list');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    for (const name of await scenarioNames()) expect(stdout).toContain(name);
  });

  it('scripts/test runs', () => {
    const { exitCode, stdout, stderr } = run('scripts/test', '--list');
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    for (const { name } of allSuites) expect(stdout).toContain(name);
  });
});

/**
 * The newest C library version that a program requires; undefined if it does not use the library.
 */
function newestLibrary(program: string): number | undefined {
  const names = readFileSync(program, 'latin1').matchAll(/\0GLIBC_2\.(\d+)(?=[.\0])/g);
  const versions = [...names].map(([, minor = '']) => Number(minor));
  return versions.length === 0 ? undefined : Math.max(...versions);
}

describe('a part that is built from source', () => {
  it('requires no newer C library than that of Debian 12', async () => {
    await ensurePart(coreosInstaller);
    const built = [coreosInstaller, nmstatectl, ostreeContainer, s3Server].filter(isHere);
    const programs = built.flatMap((part) => globSync(`${partFolder(part)}/bin/*`));
    expect(programs.map((path) => basename(path))).toContain('coreos-installer');
    const newer = programs.filter((path) => (newestLibrary(path) ?? 0) > 36);
    expect(newer).toEqual([]);
  });
});
