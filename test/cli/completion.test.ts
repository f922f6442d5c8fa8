import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bundle, copyBundle } from './bundle.ts';

const execute = promisify(execFile);

let bundle: Bundle;
let folder: string;
const script = (shell: string): string => join(folder, `_bootwright.${shell}`);
beforeAll(async () => {
  bundle = await copyBundle();
  folder = await mkdtemp(join(tmpdir(), 'bootwright-completion-'));
  for (const shell of ['bash', 'zsh', 'fish']) {
    await writeFile(script(shell), (await bundle.run(['completion', shell])).stdout);
  }
});
afterAll(async () => {
  await rm(bundle.directory, { recursive: true });
  await rm(folder, { recursive: true });
});

const layerNames = ['build', 'lint', 'name', 'push', 'render', 'rollback', 'status', 'unpause'];

/** A line up to the cursor, and what each shell offers for its last word. */
const lines: readonly (readonly [line: string, offered: readonly string[]])[] = [
  ['bootwright inst', ['install']],
  ['bootwright config ', ['init', 'schema', 'show', 'validate']],
  ['bootwright layer ', layerNames],
  ['bootwright layer bu', ['build']],
  ['bootwright node st', ['status']],
  ['bootwright -r ', ['arbiter', 'bootstrap', 'master', 'worker']],
  ['bootwright --role wor', ['worker']],
  ['bootwright plan --role wor', ['worker']],
  ['bootwright plan --format ', ['dot', 'json', 'markdown', 'text']],
  ['bootwright config show --format ', ['json', 'text']],
  ['bootwright journal -r worker --format j', ['json']],
  ['bootwright plan --high-availability-mode ', ['Full', 'None']],
  ['bootwright plan --boot-dev', ['--boot-device']],
  ['bootwright plan --image.skip', ['--image.skipMcoReboot']],
  ['bootwright layer build --os', ['--os-config']],
  ['bootwright layer status --p', ['--pool']],
  ['bootwright layer status --boot-dev', []],
  ['bootwright layer status --pool ', []],
  ['bootwright layer status st', []],
  ['bootwright node apply --authf', []],
  ['bootwright plan --url htt', []],
  ['bootwright -r worker conf', []],
  ['bootwright completion ', ['bash', 'fish', 'zsh']],
  ['bootwright help lay', ['layer']],
  ['bootwright help layer ', layerNames],
  ['bootwright help layer build --', []],
];

/** What a shell offers, in the order of letters. */
const words = (text: string): readonly string[] =>
  text
    .split('\n')
    .map((line) => line.replace(/\t.*/, '').trim())
    .filter((line) => line !== '')
    .toSorted();

async function fromBash(line: string): Promise<readonly string[]> {
  const typed = line.split(' ');
  const { stdout } = await execute('bash', [
    '--norc',
    '-c',
    'source "$0"; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _bootwright; printf "%s\\n" "${COMPREPLY[@]}"',
    script('bash'),
    ...typed,
  ]);
  return words(stdout);
}

async function fromZsh(line: string): Promise<readonly string[]> {
  const capture = join(import.meta.dirname, 'complete.zsh');
  return words((await execute('zsh', ['-f', capture, script('zsh'), line])).stdout);
}

async function fromFish(line: string): Promise<readonly string[]> {
  const argv = ['--no-config', '-c', 'source $argv[1]; complete -C $argv[2]', script('fish'), line];
  const environment = { PATH: process.env['PATH'], HOME: folder, XDG_CONFIG_HOME: folder };
  return words((await execute('fish', argv, { env: environment })).stdout);
}

describe.each([
  ['bash', fromBash],
  ['zsh', fromZsh],
  ['fish', fromFish],
])('completion in %s', (_, completed) => {
  it.each(lines)('of "%s" offers %j', async (line, offered) => {
    expect(await completed(line)).toEqual(offered);
  });

  it('offers files where a file is meant', async () => {
    await writeFile(join(folder, 'pull-secret.json'), '');
    const path = join(folder, 'pull-s');
    for (const line of ['layer build --authfile', 'layer lint', 'plan --config']) {
      const offered = await completed(`bootwright ${line} ${path}`);
      expect(offered.map((word) => word.replace(/.*\//, ''))).toEqual(['pull-secret.json']);
    }
  });
});

describe('completion of a value behind =', () => {
  it('works in fish and zsh', async () => {
    expect(await fromFish('bootwright plan --format=js')).toEqual(['--format=json']);
    expect(await fromZsh('bootwright plan --format=js')).toEqual(['json']);
  });

  it('works at the prompt of bash, where = ends a word', async () => {
    const typed = [
      `source ${script('bash')}; bootwright() { echo "ran: $*"; }`,
      'bootwright plan --format=js\t',
      'bootwright lay\tbui\t--os-c\t/etc/hostn\t',
      'bootwright -role wor\t',
      'exit',
    ].join('\n');
    const terminal = execFile('script', ['-qec', 'bash --norc -i', '/dev/null']);
    terminal.stdin?.end(`${typed}\n`);
    let shown = '';
    for await (const text of terminal.stdout ?? []) shown += String(text);
    expect([...shown.matchAll(/ran: ([^$].*?)\s*\r?\n/g)].map(([, line]) => line)).toEqual([
      'plan --format=json',
      'layer build --os-config /etc/hostname',
      '-role worker',
    ]);
  });
});
