import { afterEach, describe, expect, it, vi } from 'vitest';
import { actionsOf, commands, shells } from './commands.ts';
import { allFlagNames } from '../config/flags.ts';
import { parseCommand } from './parse-command.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

async function scriptFor(shell: (typeof shells)[number]): Promise<string> {
  const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  const run = await parseCommand({ command: 'completion', words: [shell], environment: {} });
  expect(await run()).toBe(0);
  return String(write.mock.calls[0]?.[0]);
}

describe('completion', () => {
  it.each(shells)('knows every command and flag in %s', async (shell) => {
    const words = new Set((await scriptFor(shell)).split(/[\s"'()]+/));
    const dashes = (name: string): string => (name.length === 1 ? `-${name}` : `--${name}`);
    const flags = shell === 'fish' ? allFlagNames() : allFlagNames().map(dashes);
    const own = ['format', 'os-config', 'authfile', 'kubeconfig', 'in-boot', 'delete-karg'];
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
