import { describe, expect, it } from 'vitest';
import { bootwright, type CommandCall, runCommand } from './commands.ts';
import { start } from './start.ts';

const whole = '-r worker --url http://h --cluster-id c --host-id h --boot-device /dev/sda';

interface Setting {
  readonly environment?: Record<string, string>;
  /** The outcome of the install. */
  readonly begins?: () => Promise<number>;
}

/** A tree of commands in which only `help` has an effect. */
function idleTree({ argv, print, printError }: CommandCall, ran: (readonly string[])[]) {
  const tree = bootwright(print, printError, argv[0]);
  for (const command of tree.all)
    if (command.commands.length === 0 && command.name() !== 'help')
      command.action(() => {
        ran.push(argv);
        throw new Error('not run');
      });
  return tree;
}

async function run(
  line: string,
  { environment = {}, begins = () => Promise.resolve(0) }: Setting = {},
) {
  const seen = {
    out: '',
    errors: '',
    order: [] as string[],
    installs: [] as (readonly string[])[],
    commands: [] as (readonly string[])[],
    controllers: [] as unknown[],
  };
  const exitCode = await start({
    argv: line === '' ? [] : line.split(' '),
    environment,
    print: (text) => (seen.out += text),
    printError: (text) => (seen.errors += text),
    loadProgram: () => {
      seen.order.push('load');
      return Promise.resolve({
        runInstall: (argv: readonly string[]) => {
          seen.installs.push(argv);
          return begins();
        },
        runController: (...call: readonly unknown[]) => {
          seen.controllers.push(call);
          return Promise.resolve(7);
        },
      });
    },
    // A command that would run exits with 1; help and refusals come from the real commands.
    loadCommands: () =>
      Promise.resolve({
        bootwright,
        runCommand: (call: CommandCall) => runCommand(call, idleTree(call, seen.commands)),
      }),
  });
  return { exitCode, ...seen };
}

describe('start', () => {
  it.each(['help', 'install --help', '--bogus -h'])(
    'prints the help for "%s" without loading the program',
    async (line) => {
      const { exitCode, out, order } = await run(line);
      expect({ exitCode, order }).toEqual({ exitCode: 0, order: [] });
      expect(out).toContain('bootwright -r ROLE');
    },
  );

  it.each([
    ['help plan', 'plan'],
    ['plan -r worker -h', 'plan'],
    ['layer --help', 'layer'],
    ['help layer build', 'layer build'],
    ['help config show --help', 'config show'],
  ])('prints the help of a command for "%s" without loading the program', async (line, page) => {
    const { exitCode, out, order } = await run(line);
    expect({ exitCode, order }).toEqual({ exitCode: 0, order: [] });
    expect(out).toMatch(new RegExp(`^Usage: bootwright ${page}( |$)`, 'm'));
  });

  it.each([
    ['help layer biuld', 'did you mean bootwright layer build'],
    ['help plan more', 'bootwright help plan'],
  ])('refuses "%s" with a suggestion', async (line, hint) => {
    const { exitCode, errors, order } = await run(line);
    expect({ exitCode, order }).toEqual({ exitCode: 2, order: [] });
    expect(errors).toMatch(/^failed: cli\.unknown-command: /);
    expect(errors).toContain(hint);
  });

  it('passes words after -- on as arguments', async () => {
    expect((await run('lint -- --help')).commands).toEqual([['lint', '--', '--help']]);
  });

  it.each(['--version', 'install -v'])(
    'prints the version for %s without loading the program',
    async (line) => {
      const { exitCode, out, order } = await run(line);
      expect({ exitCode, order }).toEqual({ exitCode: 0, order: [] });
      expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
    },
  );

  it('runs the controller in its job without arguments', async () => {
    const environment = {
      CLUSTER_ID: '0123e456-0000-4000-8000-000000000000',
      INVENTORY_URL: 'https://svc.example',
      OPENSHIFT_VERSION: '4.20.1',
    };
    const { controllers, exitCode } = await run('', { environment });
    expect(controllers).toEqual([[environment]]);
    expect(exitCode).toBe(7);
    expect((await run(whole, { environment })).controllers).toEqual([]);
    expect((await run('controller --kubeconfig /k')).controllers).toEqual([[{}, '/k']]);
  });

  it('passes the same flags on with and without the word install', async () => {
    const bare = await run(whole);
    const named = await run(`install ${whole}`);
    expect(named.installs).toEqual(bare.installs);
  });

  it.each([
    ['an unknown flag', `${whole} --bogus`],
    ['an invalid value of --help', `${whole} --help=x`],
  ])('refuses %s with exit code 2 without loading the program', async (_, line) => {
    const { exitCode, errors, out, order, installs } = await run(line);
    expect({ exitCode, out, order, installs }).toEqual({
      exitCode: 2,
      out: '',
      order: [],
      installs: [],
    });
    expect(errors).toMatch(/^failed: (?:cli|config)\.[a-z-]+: .+\n(?:why: .+\n)?next: .+\n$/);
  });

  it('prints an error thrown by the install', async () => {
    const begins = () => Promise.reject(new Error('a file is missing'));
    const { exitCode, errors } = await run(whole, { begins });
    expect(exitCode).toBe(1);
    expect(errors).toContain('a file is missing');
  });

  it('runs another command and returns its exit code', async () => {
    const { exitCode, commands } = await run('plan -r worker --format json');
    expect(exitCode).toBe(1);
    expect(commands).toEqual([['plan', '-r', 'worker', '--format', 'json']]);
  });
});

describe('the command of a command line', () => {
  it.each([
    ['flags alone', whole],
    ['the command', `install ${whole}`],
    ['flags before a word that is not a command, as with assisted-installer', `${whole} false`],
    ['a flag whose value is the name of a command', `${whole} --controller-image plan`],
  ])('is install with %s', async (_, words) => {
    expect(await run(words)).toMatchObject({
      exitCode: 0,
      commands: [],
      installs: [words.replace('install ', '').split(' ')],
    });
  });

  it.each([
    ['plna', 'bootwright plan'],
    ['zzzzzzz', '--help'],
  ])('is refused when it is %s', async (word, hint) => {
    const { errors } = await run(word);
    expect(errors).toMatch(/^failed: cli\.unknown-command: /);
    expect(errors.split('\nnext: ')[1]).toContain(hint);
  });
});

describe('a command after flags', () => {
  it.each([
    [`${whole} config validate`, 'bootwright config validate -r …'],
    [`${whole} -- plan`, 'bootwright plan -r …'],
    [`${whole} plna`, 'bootwright plan -r …'],
    [`install ${whole} plan`, 'bootwright plan -r …'],
    [`--format json plan ${whole}`, 'bootwright plan --format …'],
    [`--http-proxy=http://u:secret@p:1 ${whole} plan`, 'bootwright plan --http-proxy …'],
  ])('refuses "%s" without loading the program', async (words, right) => {
    const { exitCode, errors, out, order } = await run(words);
    expect({ exitCode, out, order }).toEqual({
      exitCode: 2,
      out: '',
      order: [],
    });
    expect(errors).toMatch(/^failed: cli\.command-after-flags: /);
    expect(errors.split('\nnext: ')[1]).toContain(right);
    expect(errors).not.toContain('secret');
  });

  it('is ignored after --help', async () => {
    expect(await run('-h plan')).toMatchObject({ exitCode: 0, errors: '', order: [] });
  });
});

it('prints the help to stderr and exits with 2 without arguments', async () => {
  const environment = { BOOTWRIGHT_ROLE: 'master', BOOTWRIGHT_DISK_DEVICE: '/dev/sda' };
  const { exitCode, out, errors, order } = await run('', { environment });
  expect({ exitCode, out, order }).toEqual({
    exitCode: 2,
    out: '',
    order: [],
  });
  expect(errors).toBe(bootwright().helpInformation());
});
