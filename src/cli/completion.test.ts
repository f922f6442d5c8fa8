import { describe, expect, it } from 'vitest';
import { commands, configActions, nodeActions, shells } from './commands.ts';
import { completionScript } from './completion.ts';
import { allFlagNames } from './compat/read-flags.ts';

describe('completionScript', () => {
  it.each(shells)('knows every command and flag in %s', (shell) => {
    const words = new Set(completionScript(shell).split(/[\s"'()]+/));
    const dashes = (name: string): string => (name.length === 1 ? `-${name}` : `--${name}`);
    const flags = shell === 'fish' ? allFlagNames() : allFlagNames().map(dashes);
    const named = [commands, configActions, nodeActions].flatMap((table) => Object.keys(table));
    const wanted = [...flags, ...named];
    expect(wanted.filter((word) => !words.has(word))).toEqual([]);
  });

  it.each(shells)('offers no secret in %s', (shell) => {
    expect(completionScript(shell)).not.toMatch(/service\.token[^F]/);
  });

  it.each(shells)('offers no flag twice in %s', (shell) => {
    const flags =
      shell === 'fish'
        ? [...completionScript(shell).matchAll(/^complete -c bootwright (-[sl] \S+)/gm)]
        : [...(/-W "(-[^"]*)"/.exec(completionScript(shell))?.[1] ?? '').matchAll(/(\S+)/g)];
    const names = flags.map(([, name]) => name);
    expect(names.length).toBeGreaterThan(50);
    expect(new Set(names).size).toBe(names.length);
  });

  it('is found by zsh by its first line', () => {
    expect(completionScript('zsh')).toMatch(/^#compdef bootwright\n/);
  });
});
