// The first commands of a newcomer, with the newcomer's Node and npm: a script of this tree finds
// its own Node.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { takeLock } from '../../scripts/parts/ensure.ts';
import { olderNpm, olderNpmPath, olderNpms } from '../../scripts/parts/older-npm.ts';
import { partFolder } from '../../scripts/parts/part.ts';

const top = resolve(import.meta.dirname, '../..');
const tools = partFolder(olderNpm);

/** Half of the packages require a newer Node than Debian 12 has; this package is also optional. */
const optional = '@rolldown/binding-linux-x64-gnu';

/**
 * package.json and its lock with only the packages of Node and one more: all packages would take
 * minutes on a busy machine.
 */
function fewPackages(): Readonly<Record<string, string>> {
  const lock = JSON.parse(readFileSync(join(top, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly version: string }>>;
  };
  const { name, version, type, optionalDependencies } = JSON.parse(
    readFileSync(join(top, 'package.json'), 'utf8'),
  ) as Readonly<Record<string, object>>;
  const entry = `node_modules/${optional}`;
  const own = { [optional]: lock.packages[entry]?.version };
  const root = { name, version, optionalDependencies: { ...optionalDependencies, ...own } };
  const node = Object.entries(lock.packages).filter(
    ([path]) => path.includes('/node-linux-') || path === entry,
  );
  const scripts = { node: 'scripts/run node --version' };
  return {
    'package.json': JSON.stringify({ ...root, type, scripts }),
    'package-lock.json': JSON.stringify({
      name,
      version,
      lockfileVersion: 3,
      requires: true,
      packages: { '': root, ...Object.fromEntries(node) },
    }),
  };
}

/** A tree with the files that a script needs to install its packages, and its own cache. */
function freshTree() {
  const folder = mkdtempSync(join(tmpdir(), 'bootwright-fresh-'));
  mkdirSync(join(folder, 'scripts'));
  for (const name of ['.npmrc', 'scripts/prepare.sh', 'scripts/run'])
    cpSync(join(top, name), join(folder, name));
  for (const [name, text] of Object.entries(fewPackages())) writeFileSync(join(folder, name), text);
  return {
    folder,
    lock: join(folder, 'cache/bootwright/npm-ci.lock'),
    [Symbol.dispose]: () => {
      rmSync(folder, { recursive: true });
    },
  };
}

/** Starts a command in such a tree with the given folders first in PATH. */
function start(folder: string, path: readonly string[], argv: readonly [string, ...string[]]) {
  const [program, ...args] = argv;
  const child = spawn(program, args, {
    cwd: folder,
    env: {
      // Requests to the registry use this machine's proxies.
      ...process.env,
      XDG_CACHE_HOME: join(folder, 'cache'),
      PATH: [...path, '/usr/bin', '/bin'].join(':'),
    },
  });
  const seen = { out: '', errors: '' };
  child.stdout.on('data', (chunk: Buffer) => void (seen.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => void (seen.errors += chunk.toString()));
  const ended = once(child, 'close').then(([code]) => ({ code: code as number, ...seen }));
  return { seen, ended };
}

const version = ['scripts/run', 'node', '--version'] as const;

/** A folder with programs that only print the version of a Node and an npm. */
function programs(folder: string, versions: Readonly<Record<'node' | 'npm', string>>): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  for (const [name, text] of Object.entries(versions)) {
    writeFileSync(join(bin, name), `#!/bin/sh\necho ${text}\n`);
    chmodSync(join(bin, name), 0o755);
  }
  return bin;
}

describe('the first command in a clone', () => {
  it('runs on Node 24 and installs the packages that the npm of Debian 12 omits', async () => {
    using tree = freshTree();
    const path = olderNpmPath(tools, olderNpms[0].npm);
    const hasOptional = (): boolean => existsSync(join(tree.folder, 'node_modules', optional));
    // A user who knows npm starts with this.
    expect(await start(tree.folder, path, ['npm', 'ci']).ended).toMatchObject({ code: 0 });
    expect(hasOptional()).toBe(false);
    const first = await start(tree.folder, path, version).ended;
    expect(first).toMatchObject({ code: 0, out: expect.stringMatching(/^v24\./) as string });
    expect(first.errors).toContain('npm ci');
    expect(hasOptional()).toBe(true);
    expect(await start(tree.folder, path, version).ended).toMatchObject({ code: 0, errors: '' });
    const { out } = await start(tree.folder, path, ['npm', 'run', '--silent', 'node']).ended;
    expect(out).toBe(first.out);
  });

  it('installs nothing after npm ci by hand, and everything after an interrupted run', async () => {
    using tree = freshTree();
    const path = olderNpmPath(tools, olderNpms.at(-1)?.npm ?? '');
    expect(await start(tree.folder, path, ['npm', 'ci']).ended).toMatchObject({ code: 0 });
    expect(await start(tree.folder, path, version).ended).toMatchObject({ code: 0, errors: '' });
    rmSync(join(tree.folder, 'node_modules/.package-lock.json'));
    expect((await start(tree.folder, path, version).ended).errors).toContain('npm ci');
  });

  it.each([
    { node: 'v16.20.2', npm: '8.19.4' },
    { node: 'v18.20.4', npm: '8.19.4' },
    { node: 'v16.20.2', npm: '9.2.0' },
  ])('refuses Node $node with npm $npm and names both', async (versions) => {
    using tree = freshTree();
    const { code, errors } = await start(tree.folder, [programs(tree.folder, versions)], version)
      .ended;
    expect(code).toBe(3);
    expect(errors.trimEnd().split('\n')).toEqual([
      expect.stringMatching(`${versions.node}.*${versions.npm}`) as string,
    ]);
  });

  it('reports that it waits while another process installs the packages', async () => {
    using tree = freshTree();
    mkdirSync(dirname(tree.lock), { recursive: true });
    const lock = await takeLock(tree.lock);
    const bin = programs(tree.folder, { node: 'v16.20.2', npm: '8.19.4' });
    const { seen, ended } = start(tree.folder, [bin], version);
    await expect.poll(() => seen.errors).toMatch(/waiting .* since \d\d:\d\d:\d\d.*npm-ci\.log/);
    await lock[Symbol.asyncDispose]();
    expect((await ended).code).toBe(3);
  });
});
