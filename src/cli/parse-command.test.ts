import { describe, expect, it } from 'vitest';
import { parseCommand } from './parse-command.ts';
import type { CommandCall } from './program.ts';

const parse = (command: CommandCall['command'], ...words: readonly string[]) =>
  parseCommand({ command, words, environment: {} });

describe('parseCommand', () => {
  it.each<[CommandCall['command'], readonly string[]]>([
    ['plan', []],
    ['plan', ['-r', 'worker', '--format', 'dot', '--boot-device', '/dev/sda']],
    ['plan', ['--format=json', '-role=worker']],
    ['config', ['show', '--format', 'json', '--url', 'http://h']],
    ['config', ['validate', '--insecure']],
    ['config', ['schema']],
    ['journal', ['--host.root', '/mnt']],
    ['after-pivot', []],
    ['after-pivot', ['--kubeconfig', '/k', '--verbose']],
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
    ['after-pivot', ['--kubeconfig'], 'cli.bad-flag', 'bootwright after-pivot --help'],
    ['after-pivot', ['--url', 'http://h'], 'cli.bad-flag', 'bootwright after-pivot --help'],
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
