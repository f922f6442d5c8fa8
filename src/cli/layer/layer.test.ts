import { describe, expect, it } from 'vitest';
import { parseCommand } from '../parse-command.ts';

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
    await expect(parseCommand({ command: 'layer', words, environment: {} })).rejects.toMatchObject({
      code,
    });
  });
});
