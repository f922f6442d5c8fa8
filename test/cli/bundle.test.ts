import { spawnSync } from 'node:child_process';
import { readFile, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { revisionOf } from '../../scripts/build/source.ts';
import { bootwright } from '../../src/cli/program/commands.ts';
import { version } from '../../src/model/version.ts';
import { type Bundle, copyBundle } from './bundle.ts';

/** Runs a line of bash with arguments. */
function shell(line: string, words: readonly string[]) {
  const { status, stdout, stderr } = spawnSync('bash', ['-c', line, ...words], {
    encoding: 'utf8',
  });
  return { exitCode: status, stdout, stderr };
}

let bundle: Bundle;
beforeAll(async () => {
  bundle = await copyBundle();
});
/** A program of the tree; a program in `dist` is taken from the copy. */
const programIn = (file: string): string =>
  file.startsWith('dist') ? bundle.path : join(import.meta.dirname, '../..', file);

afterAll(async () => {
  await rm(bundle.directory, { recursive: true });
});

describe('the built program', () => {
  it('is executable and comes with its source map and licences', async () => {
    expect((await stat(bundle.path)).mode & 0o111).toBe(0o111);
    expect(await readFile(bundle.path, 'utf8')).toMatch(/^#!\/usr\/bin\/env -S .*node .*\n/);
    expect(await readFile(`${bundle.directory}/licences.txt`, 'utf8')).toMatch(/^zod \d/m);
    const map = JSON.parse(await readFile(`${bundle.path}.map`, 'utf8')) as { version: number };
    expect(map.version).toBe(3);
  });

  it.each([
    ['--help', bootwright().helpInformation()],
    ['--version', `${version}\n`],
  ])('answers %s from the start file alone', async (flag, stdout) => {
    const ended = await bundle.run([flag], { path: bundle.startAlone });
    expect(ended).toEqual({ exitCode: 0, stdout, stderr: '' });
  });

  it('prints the commit that it was built from', async () => {
    const { stdout } = await bundle.run(['version', '--format', 'json'], {
      path: bundle.startAlone,
    });
    const commit = revisionOf(resolve(import.meta.dirname, '../..'));
    expect(JSON.parse(stdout)).toMatchObject({ version, commit });
  });

  it('refuses an older Node with one line', async () => {
    const pretend = "Object.defineProperty(process.versions, 'node', { value: '22.11.0' })";
    const ended = await bundle.run(['--version'], {
      node: ['--import', `data:text/javascript,${encodeURIComponent(pretend)}`],
    });
    expect(ended).toMatchObject({ exitCode: 3, stdout: '' });
    expect(ended.stderr).toMatch(/^failed: cli\.old-node: .*Node 24 or newer.*\n$/);
  });

  it.each([
    ['dist/bootwright.mjs', '--help'],
    [
      'dist/bootwright.mjs',
      'plan -r worker --boot-device /dev/vda --url http://192.0.2.1 --cluster-id A --host-id B',
    ],
    ['scripts/lab.ts', '--list'],
  ])('reports in one line that the output of %s %s cannot be written', (file, words) => {
    const { exitCode, stderr } = shell('"$0" "$@" > /dev/full', [
      ...[process.execPath, programIn(file), ...words.split(' ')],
    ]);
    expect(stderr).toBe('failed: cli.output-not-written: ENOSPC: no space left on device, write\n');
    expect(exitCode).toBe(4);
  });

  it.each([
    ['the program', ['dist/bootwright.mjs', 'config', 'schema']],
    ['the help', ['dist/bootwright.mjs', '--help']],
    ['the list of scenarios', ['scripts/lab.ts', '--list']],
  ])('ends without an error on a closed pipe: %s', (_, [file = '', ...words]) => {
    const line = `exec 3> >(:); wait $!; "$0" "$@" >&3`;
    expect(shell(line, [process.execPath, programIn(file), ...words])).toEqual({
      exitCode: 0,
      stdout: '',
      stderr: '',
    });
  });

  it('maps the stack of an unexpected error to the source', async () => {
    const fault =
      'JSON.stringify = () => {' +
      '  const error = new TypeError("boom");' +
      '  console.error(error.stack);' +
      '  throw error;' +
      '};';
    const { exitCode, stderr } = await bundle.run(['config', 'schema'], {
      node: ['--import', `data:text/javascript,${encodeURIComponent(fault)}`],
    });
    expect(exitCode).toBe(1);
    expect(stderr).toMatch(/at .*src\/c[a-z/-]+\.ts:\d+:\d+/);
    expect(stderr).toMatch(/^failed: run\.unexpected: boom\nwhy: at .*\nnext: .*\n$/m);
  });
});
