import { afterEach, describe, expect, it, vi } from 'vitest';
import { allFlagNames } from '../config/flags.ts';
import { actionsOf, commands, shells } from './commands.ts';
import { parseCommand } from './parse-command.ts';
import type { CommandCall } from './program.ts';

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
    ['plan', ['--format', 'jsno'], 'cli.bad-flag', 'bootwright plan --help'],
    ['plan', ['--format'], 'cli.bad-flag', 'bootwright plan --help'],
    ['config', [], 'cli.unknown-command', 'show, validate, schema'],
    ['config', ['shwo'], 'cli.unknown-command', 'bootwright config show'],
    ['config', ['schema', 'more'], 'cli.bad-flag', 'bootwright config --help'],
    ['controller', ['--kubeconfig'], 'cli.bad-flag', 'bootwright controller --help'],
    ['controller', ['--url', 'http://h'], 'cli.bad-flag', 'bootwright controller --help'],
    ['node', [], 'cli.unknown-command', 'status, apply, rollback'],
    ['node', ['stauts'], 'cli.unknown-command', 'bootwright node status'],
    ['node', ['apply'], 'cli.bad-flag', 'bootwright node --help'],
    ['node', ['status', '--reboot'], 'cli.bad-flag', 'bootwright node --help'],
    ['node', ['rollback', '--record'], 'cli.bad-flag', 'bootwright node --help'],
    ['completion', [], 'cli.bad-flag', 'bootwright completion --help'],
    ['completion', ['tcsh'], 'cli.bad-flag', 'bootwright completion --help'],
  ])('refuses %s %j', async (...[command, words, code, hint]) => {
    await expect(parse(command, ...words)).rejects.toMatchObject({
      code,
      kind: 'input',
      hint: expect.stringContaining(hint) as string,
    });
  });
});

describe('the command line of layer', () => {
  it.each([
    [['lint'], 'cli.bad-flag'],
    [['render', '--os-config', 'a'], 'cli.bad-flag'],
    [['name', '--url', 'x'], 'cli.bad-flag'],
    [['build', '--os-config', 'a'], 'cli.bad-flag'],
    [['push'], 'cli.bad-flag'],
    [['burn'], 'cli.unknown-command'],
    [[], 'cli.unknown-command'],
  ])('refuses %j', async (words, code) => {
    await expect(
      parseCommand({ command: 'layer', args: words, environment: {} }),
    ).rejects.toMatchObject({
      code,
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
    const words = new Set((await scriptFor(shell)).split(/[\s"'()]+/));
    const dashes = (name: string): string => (name.length === 1 ? `-${name}` : `--${name}`);
    const flags = shell === 'fish' ? allFlagNames() : allFlagNames().map(dashes);
    const own = ['format', 'os-config', 'authfile', 'kubeconfig', 'record', 'delete-karg'];
    const ofCommands = shell === 'fish' ? own : own.map(dashes);
    const named = [commands, ...Object.values(actionsOf)].flatMap((table) => Object.keys(table));
    const wanted = [...flags, ...ofCommands, ...named];
    expect(wanted.filter((word) => !words.has(word))).toEqual([]);
  });

  it.each(shells)('offers no secret in %s', async (shell) => {
    expect(await scriptFor(shell)).not.toMatch(/service\.token[^F]/);
  });

  it.each(shells)('offers no flag twice in %s', async (shell) => {
    const script = await scriptFor(shell);
    const flags =
      shell === 'fish'
        ? [...script.matchAll(/^complete -c bootwright (-[sl] \S+)/gm)]
        : [...(/flags\+=" (-[^"]*)"/.exec(script)?.[1] ?? '').matchAll(/(\S+)/g)];
    const names = flags.map(([, name]) => name);
    expect(names.length).toBeGreaterThan(50);
    expect(new Set(names).size).toBe(names.length);
  });

  it('is found by zsh by its first line', async () => {
    expect(await scriptFor('zsh')).toMatch(/^#compdef bootwright\n/);
  });
});
