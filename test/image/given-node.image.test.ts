// Node for ppc64le and s390x is given by whoever builds their image: what is not it is refused before anything is built.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';

const top = join(import.meta.dirname, '../..');
const folder = mkdtempSync(join(tmpdir(), 'bootwright-given-node-'));
afterAll(() => rmSync(folder, { recursive: true }));

describe('npm run image', () => {
  it.each([
    [
      's390x without Node',
      ['--arch', 's390x'],
      /^Node for s390x is not in .*[^]* {2}https:.*-s390x\.tar\.xz$/m,
    ],
    ['s390x with another file', ['--arch', 's390x', '--node'], /^--node .* is [0-9a-f]{64}\. .*/],
    ['amd64 with Node', ['--arch', 'amd64', '--node'], /^--node: Node for amd64 comes from /],
  ])('refuses %s, and builds nothing', (_, args, message) => {
    const cache = mkdtempSync(join(folder, 'cache-'));
    const file = args.at(-1) === '--node' ? [join(top, 'LICENSE')] : [];
    const { status, stderr } = spawnSync(
      process.execPath,
      [join(top, 'scripts/image.ts'), ...args, ...file],
      { env: { ...process.env, XDG_CACHE_HOME: cache }, encoding: 'utf8' },
    );
    expect(status).toBe(1);
    expect(stderr).toMatch(message);
    expect(readdirSync(cache)).toEqual([]);
  });
});
