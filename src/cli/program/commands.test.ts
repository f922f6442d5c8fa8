import { afterEach, describe, expect, it, vi } from 'vitest';
import packageJson from '../../../package.json' with { type: 'json' };
import { flagRows, ownFlagRows } from '../../config/flag-table.ts';
import { supportedReleases, version } from '../../model/version.ts';
import { bootwright } from './commands.ts';

const program = bootwright();

/** Parses a command line without running the command. */
const parsed = (line: string): Promise<number> => {
  const tree = bootwright();
  for (const command of tree.all)
    if (command.commands.length === 0) command.action(() => undefined);
  return tree.run(line.split(' '));
};

describe('the help of the program', () => {
  it('is never wider than 80 columns', () => {
    expect(
      program
        .helpInformation()
        .split('\n')
        .filter((line) => line.length > 80),
    ).toEqual([]);
  });

  it.each([...Object.keys(flagRows), ...Object.keys(ownFlagRows)])('lists the flag %s', (name) => {
    expect(program.helpInformation()).toMatch(new RegExp(`(^|\\s)--?${name}\\b`, 'm'));
  });

  it.each(program.commands.map((command) => command.name()))('lists the command %s', (name) => {
    expect(program.helpInformation()).toMatch(new RegExp(`^  ${name} `, 'm'));
  });
});

describe('the help of a command', () => {
  const pages = program.all.slice(1);
  const leaves = pages.filter(({ commands }) => commands.length === 0);
  const named = (places: typeof pages) =>
    places.map((place) => [place.path.join(' '), place] as const);

  it.each(named(pages))('%s is not wider than 80 columns, except for its examples', (_, place) => {
    const [text = ''] = place.helpInformation().split('\nExamples:\n');
    expect(text.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });

  it.each(named(leaves))('%s shows its usage, options and exit codes', (name, place) => {
    const text = place.helpInformation();
    expect(text).toMatch(new RegExp(`^Usage: bootwright ${name}( |$)`, 'm'));
    for (const { flags } of place.options) expect(text).toContain(`  ${flags}`);
    expect(text).toMatch(/^Exit codes:\n {2}0 +done$/m);
    for (const [code, meaning] of Object.entries(place.exitCodes))
      expect(text.replaceAll(/\s+/g, ' ')).toContain(` ${code} ${meaning}`);
  });

  it('shows the commands of a group and the required arguments of a command', () => {
    const at = (name: string) => program.find(name.split(' ')).helpInformation();
    expect(at('config')).toMatch(
      /^Commands:\n {2}init [^]*\n {2}show [^]*\n {2}validate [^]*\n {2}schema /m,
    );
    expect(at('layer status')).toMatch(/ --kubeconfig <FILE> .*; required/);
    expect(at('lint')).toContain('Usage: bootwright lint [options] <FILE|DIR...>\n');
    expect(at('node apply')).toContain('Usage: bootwright node apply [options] <IMAGE>\n');
    expect(at('plan').replaceAll(/\s+/g, ' ')).toContain('"bootwright help install"');
    expect(at('install')).toContain('--boot-device DEVICE');
  });

  it.each(named(leaves).flatMap(([name, { examples }]) => examples.map(([line]) => [name, line])))(
    '%s has examples with its name: %s',
    (name, line) => {
      expect(line).toContain(name === 'install' ? 'bootwright' : `bootwright ${name}`);
    },
  );
});

it('the version is that of the package', () => {
  expect(version).toBe(packageJson.version);
});

describe('a command line', () => {
  it.each([
    'plan -r worker --format json --boot-device /dev/sda',
    'config show --format json --url http://h',
    'status --steps --host.root /mnt',
    'controller --kubeconfig /k --verbose',
    'node apply q.io/a/b:1 --reboot --append-karg a=1 --delete-karg b',
    'node apply q.io/a/b:1 --record',
  ])('accepts %s', async (line) => {
    await expect(parsed(line)).resolves.toBe(0);
  });

  it.each([
    ['plan --format jsno', 'cli.bad-flag', 'did you mean json'],
    ['plan --format x', 'cli.bad-flag', 'bootwright help plan'],
    ['config shwo', 'cli.unknown-command', 'did you mean bootwright config show'],
    ['config zzzzz', 'cli.unknown-command', 'show, validate, schema'],
    ['config schema more', 'cli.bad-flag', 'bootwright help config schema'],
    ['controller --url http://h', 'cli.bad-flag', 'bootwright help controller'],
    ['node aplpy', 'cli.unknown-command', 'did you mean bootwright node apply'],
    ['node apply', 'cli.bad-flag', 'bootwright help node apply'],
    ['node rollback --fromat=json', 'cli.bad-flag', 'did you mean --format'],
    ['node rollback --record', 'cli.bad-flag', 'bootwright help node rollback'],
    ['lint', 'cli.bad-flag', 'bootwright help lint'],
    ['layer build --os-confg a', 'cli.bad-flag', 'did you mean --os-config'],
    ['layer burn', 'cli.unknown-command', 'build, status, unpause'],
  ])('refuses %s', async (line, code, hint) => {
    await expect(parsed(line)).rejects.toMatchObject({
      code,
      kind: 'input',
      hint: expect.stringContaining(hint) as string,
    });
  });
});

it.each(['config', 'node', 'layer'])('prints the help of %s without a subcommand', async (name) => {
  let page = '';
  const program = bootwright(undefined, (text) => (page += text));
  expect(await program.run([name])).toBe(2);
  expect(page).toBe(program.find([name]).helpInformation());
});

it.each([
  ['a misspelled option of the command', '--fromat', 'did you mean --format'],
  ['a misspelled flag of an install', '--boot-devcie', 'did you mean --boot-device'],
  ['an unknown flag', '--zzzzzz', '--help'],
])('unknown flags of a command are refused with a suggestion: %s', async (_, flag, hint) => {
  await expect(bootwright().run(['plan', flag, 'x'])).rejects.toMatchObject({
    code: 'cli.unknown-flag',
    hint: expect.stringContaining(hint) as string,
  });
});

afterEach(() => {
  vi.restoreAllMocks();
});

describe('version', () => {
  const printed = async (...words: readonly string[]): Promise<string> => {
    const write = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    expect(await bootwright().run(['version', ...words])).toBe(0);
    const [[text] = []] = write.mock.calls;
    write.mockRestore();
    return String(text);
  };
  const { node } = process.versions;
  const openshift = supportedReleases;
  const { first, last } = openshift;

  it('prints the versions of Bootwright, its commit, Node and OpenShift', async () => {
    expect(await printed()).toBe(
      `bootwright ${version}\ncommit     unknown\nNode       ${node}\nOpenShift  ${first} to ${last}\n`,
    );
  });

  it('prints JSON with an empty commit when it runs from sources', async () => {
    expect(JSON.parse(await printed('--format', 'json'))).toEqual({
      v: 1,
      version,
      commit: '',
      node,
      openshift,
    });
  });
});
