import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { version } from '../model/version.ts';
import { commands } from './commands.ts';
import { flagRows, ownFlagRows } from '../config/flag-table.ts';
import { helpText } from './help.ts';

describe('helpText', () => {
  it('is never wider than 80 columns', () => {
    expect(
      helpText()
        .split('\n')
        .filter((line) => line.length > 80),
    ).toEqual([]);
  });

  it.each([...Object.keys(flagRows), ...Object.keys(ownFlagRows)])('names the flag %s', (name) => {
    expect(helpText()).toMatch(new RegExp(`(^|\\s)--?${name}\\b`, 'm'));
  });

  it.each(Object.keys(commands))('names the command %s', (name) => {
    expect(helpText()).toMatch(new RegExp(`^  ${name} `, 'm'));
  });
});

describe('version', () => {
  it('is that of the package', () => {
    expect(version).toBe(packageJson.version);
  });
});
