import { execFile } from 'node:child_process';
import { appendFile, cp, mkdir, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const execute = promisify(execFile);
const top = join(import.meta.dirname, '../..');

it('scripts/bootwright prints the commit of its clone and whether the tree is dirty', async () => {
  const outer = await mkdtemp(join(tmpdir(), 'bootwright-clone-'));
  const clone = join(outer, 'clone');
  const git = async (cwd: string, ...args: readonly string[]) => {
    const user = ['-c', 'user.name=x', '-c', 'user.email=x@example.com'];
    return (await execute('git', [...user, ...args], { cwd })).stdout.trim();
  };
  const commit = async () => {
    const program = join(clone, 'scripts/bootwright');
    const { stdout } = await execute(program, ['version', '--format', 'json'], { cwd: outer });
    return (JSON.parse(stdout) as { readonly commit: string }).commit;
  };
  try {
    await mkdir(join(clone, 'scripts'), { recursive: true });
    for (const file of ['scripts/bootwright', 'scripts/prepare.sh'])
      await cp(join(top, file), join(clone, file));
    for (const folder of ['src', 'node_modules'])
      await symlink(join(top, folder), join(clone, folder));
    await git(outer, 'init', '--quiet');
    await git(outer, 'commit', '--quiet', '--allow-empty', '--message', 'another repository');
    expect(await commit()).toBe('');
    await git(clone, 'init', '--quiet');
    await git(clone, 'add', 'scripts');
    await git(clone, 'commit', '--quiet', '--message', 'program');
    const head = await git(clone, 'rev-parse', 'HEAD');
    expect(await commit()).toBe(head);
    await appendFile(join(clone, 'scripts/prepare.sh'), '# changed\n');
    expect(await commit()).toBe(`${head}-dirty`);
  } finally {
    await rm(outer, { recursive: true });
  }
});
