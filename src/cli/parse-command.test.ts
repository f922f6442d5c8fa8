import { afterEach, describe, expect, it, vi } from 'vitest';
import { allFlagNames } from '../config/flags.ts';
import { commandsBelow, root } from './commands.ts';
import { parseCommand } from './parse-command.ts';
import type { CommandCall } from './program.ts';

const shells = ['bash', 'zsh', 'fish'] as const;

const parse = (command: CommandCall['command'], ...words: readonly string[]) =>
  parseCommand({ command, args: words, environment: {} });

describe('parseCommand', () => {
  it.each<[CommandCall['command'], readonly string[]]>([
    ['plan', []],
    ['plan', ['-r', 'worker', '--format', 'dot', '--boot-device', '/dev/sda']],
    ['plan', ['--format=json', '-role=worker']],
    ['config', ['show', '--format', 'json', '--url', 'http://h']],
    ['config', ['validate', '--insecure']],
    ['config', ['schema']],
    ['journal', ['--host.root', '/mnt']],
    ['controller', []],
    ['controller', ['--kubeconfig', '/k', '--verbose']],
    ['node', ['status', '--format', 'json']],
    ['node', ['apply', 'q.io/a/b:1', '--reboot', '--append-karg', 'a=1', '--delete-karg', 'b']],
    ['node', ['apply', 'q.io/a/b:1', '--record']],
    ['node', ['rollback', '--reboot']],
    ['completion', ['fish']],
  ])('understands %s %j', async (command, words) => {
    await expect(parse(command, ...words)).resolves.toBeTypeOf('function');
  });

  it.each<[CommandCall['command'], readonly string[], string, string]>([
    ['plan', ['--format', 'jsno'], 'cli.bad-flag', 'did you mean json'],
    ['plan', ['--format', 'x'], 'cli.bad-flag', 'bootwright help plan'],
    ['plan', ['--format'], 'cli.bad-flag', 'bootwright help plan'],
    ['config', [], 'cli.unknown-command', 'show, validate, schema'],
    ['config', ['shwo'], 'cli.unknown-command', 'did you mean bootwright config show'],
    ['config', ['zzzzz'], 'cli.unknown-command', 'show, validate, schema'],
    ['config', ['schema', 'more'], 'cli.bad-flag', 'bootwright help config schema'],
    ['controller', ['--kubeconfig'], 'cli.bad-flag', 'bootwright help controller'],
    ['controller', ['--url', 'http://h'], 'cli.bad-flag', 'bootwright help controller'],
    ['node', [], 'cli.unknown-command', 'status, apply, rollback'],
    ['node', ['stauts'], 'cli.unknown-command', 'did you mean bootwright node status'],
    ['node', ['apply'], 'cli.bad-flag', 'bootwright help node apply'],
    ['node', ['status', '--reboot'], 'cli.bad-flag', 'bootwright help node status'],
    ['node', ['status', '--fromat', 'json'], 'cli.bad-flag', 'did you mean --format'],
    ['node', ['status', '--fromat=json'], 'cli.bad-flag', 'did you mean --format'],
    ['node', ['rollback', '--record'], 'cli.bad-flag', 'bootwright help node rollback'],
    ['completion', [], 'cli.bad-flag', 'bootwright help completion'],
    ['completion', ['tcsh'], 'cli.bad-flag', 'bootwright help completion'],
    ['completion', ['bsah'], 'cli.bad-flag', 'did you mean bash'],
    ['layer', ['lint'], 'cli.bad-flag', 'bootwright help layer lint'],
    ['layer', ['render', '--os-config', 'a'], 'cli.bad-flag', 'bootwright help layer render'],
    ['layer', ['name', '--url', 'x'], 'cli.bad-flag', 'bootwright help layer name'],
    ['layer', ['build', '--os-confg', 'a'], 'cli.bad-flag', 'did you mean --os-config'],
    ['layer', ['push'], 'cli.bad-flag', 'bootwright help layer push'],
    ['layer', ['biuld'], 'cli.unknown-command', 'did you mean bootwright layer build'],
    ['layer', ['burn'], 'cli.unknown-command', 'lint, render, name'],
    ['layer', [], 'cli.unknown-command', 'lint, render, name'],
  ])('refuses %s %j', async (...[command, words, code, hint]) => {
    await expect(parse(command, ...words)).rejects.toMatchObject({
      code,
      kind: 'input',
      hint: expect.stringContaining(hint) as string,
    });
  });
});

describe('the flags of an install beside options of a command', () => {
  it.each([
    ['an option of the command', '--fromat', 'did you mean --format'],
    ['a flag of an install', '--boot-devcie', 'did you mean --boot-device'],
    ['neither', '--zzzzzz', '--help'],
  ])('are refused with what was meant: %s', async (_, flag, hint) => {
    const run = await parse('plan', flag, 'x');
    await expect(run()).rejects.toMatchObject({
      code: 'cli.unknown-flag',
      hint: expect.stringContaining(hint) as string,
    });
  });
});

afterEach(() => {
  vi.restoreAllMocks();
});

async function scriptFor(shell: (typeof shells)[number]): Promise<string> {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const run = await parseCommand({ command: 'completion', args: [shell], environment: {} });
  expect(await run()).toBe(0);
  return String(write.mock.calls[0]?.[0]);
}

describe('completion', () => {
  it.each(shells)('knows every command and flag in %s', async (shell) => {
    const words = new Set((await scriptFor(shell)).split(/[\s"'():]+/));
    const dashes = (name: string): string => (name.length === 1 ? `-${name}` : `--${name}`);
    const flags = shell === 'fish' ? allFlagNames() : allFlagNames().map(dashes);
    const own = ['format', 'os-config', 'authfile', 'kubeconfig', 'record', 'delete-karg'];
    const ofCommands = shell === 'fish' ? own : own.map(dashes);
    const named = commandsBelow(root).flatMap(({ path }) => path.slice(-1));
    const wanted = [...flags, ...ofCommands, ...named];
    expect(wanted.filter((word) => !words.has(word))).toEqual([]);
  });

  it.each(shells)('offers no secret in %s', async (shell) => {
    expect(await scriptFor(shell)).not.toMatch(/service\.token[^F]/);
  });

  it('is found by zsh by its first line', async () => {
    expect(await scriptFor('zsh')).toMatch(/^#compdef bootwright\n/);
  });
});
