import { describe, expect, it } from 'vitest';
import packageJson from '../../package.json' with { type: 'json' };
import { version } from '../model/version.ts';
import { commands, commandsBelow, root } from './commands.ts';
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

describe('the page of a command', () => {
  const pages = commandsBelow(root).slice(1);
  const leaves = pages.filter(({ row }) => row.commands === undefined);
  const named = (places: typeof pages) =>
    places.map((place) => [place.path.join(' '), place] as const);

  it.each(named(pages))('%s is not wider than 80 columns, examples apart', (_, place) => {
    const [text = ''] = helpText(place).split('\nExamples\n');
    expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it.each(named(leaves))(
    '%s says how it is used, its options and its exit codes',
    (name, place) => {
      const text = helpText(place);
      expect(text).toMatch(new RegExp(`^Usage\n(  .*\n)*  bootwright ${name}`, 'm'));
      for (const option of Object.keys(place.row.options ?? {}))
        expect(text).toContain(`  --${option}`);
      expect(text).toMatch(/^Exit codes\n {2}0 +done$/m);
      for (const [code, meaning] of Object.entries(place.row.exitCodes ?? {}))
        expect(text.replaceAll(/\s+/g, ' ')).toContain(` ${code} ${meaning}`);
    },
  );

  it('shows what a group has, and what a command needs', () => {
    const at = (name: string) => pages.find(({ path }) => path.join(' ') === name);
    expect(helpText(at('config'))).toMatch(/^Commands\n {2}show .*\n {2}validate .*\n {2}schema /m);
    expect(helpText(at('layer status'))).toContain(
      '  bootwright layer status --kubeconfig FILE [options]\n',
    );
    expect(helpText(at('layer lint'))).toContain('  bootwright layer lint [options] FILE...\n');
    expect(helpText(at('node apply'))).toContain('  bootwright node apply [options] IMAGE\n');
    expect(helpText(at('plan')).replaceAll(/\s+/g, ' ')).toContain('"bootwright help install"');
    expect(helpText(at('install'))).toContain('--boot-device DEVICE');
  });

  it.each(
    named(leaves).flatMap(([name, { row }]) => (row.examples ?? []).map(([line]) => [name, line])),
  )('%s has an example that names it: %s', (name, line) => {
    expect(line).toContain(name === 'install' ? 'bootwright' : `bootwright ${name}`);
  });
});

describe('version', () => {
  it('is that of the package', () => {
    expect(version).toBe(packageJson.version);
  });
});
