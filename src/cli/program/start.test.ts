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
  it.each([
    ...['help', 'install --help', '--bogus -h'].map(
      (line) => [line, /bootwright -r ROLE/] as const,
    ),
    ['help plan', /^Usage: bootwright plan( |$)/m],
    ['plan -r worker -h', /^Usage: bootwright plan( |$)/m],
    ['layer --help', /^Usage: bootwright layer( |$)/m],
    ['help layer build', /^Usage: bootwright layer build( |$)/m],
    ['help config show --help', /^Usage: bootwright config show( |$)/m],
    ['-h plan', /bootwright -r ROLE/],
    ['--version', /^\d+\.\d+\.\d+\n$/],
    ['install -v', /^\d+\.\d+\.\d+\n$/],
  ] as const)(
    'prints the help or the version for "%s" without loading the program',
    async (...row) => {
      const [line, shown] = row;
      const { exitCode, out, errors, order } = await run(line);
      expect({ exitCode, errors, order }).toEqual({ exitCode: 0, errors: '', order: [] });
      expect(out).toMatch(shown);
    },
  );

  it.each([
    ['help layer biuld', 'cli.unknown-command', 'did you mean bootwright layer build'],
    ['help plan more', 'cli.unknown-command', 'bootwright help plan'],
    ['plna', 'cli.unknown-command', 'bootwright plan'],
    ['zzzzzzz', 'cli.unknown-command', '--help'],
    [`${whole} --bogus`, 'cli.unknown-flag', ''],
    [`${whole} --help=x`, 'cli.bad-flag', ''],
    [`${whole} config validate`, 'cli.command-after-flags', 'bootwright config validate -r …'],
    [`${whole} -- plan`, 'cli.command-after-flags', 'bootwright plan -r …'],
    [`${whole} plna`, 'cli.command-after-flags', 'bootwright plan -r …'],
    [`install ${whole} plan`, 'cli.command-after-flags', 'bootwright plan -r …'],
    [`--format json plan ${whole}`, 'cli.command-after-flags', 'bootwright plan --format …'],
    [
      `--http-proxy=http://u:secret@p:1 ${whole} plan`,
      'cli.command-after-flags',
      'bootwright plan --http-proxy …',
    ],
  ])('refuses "%s" with exit code 2 without loading the program', async (line, code, hint) => {
    const { errors, ...seen } = await run(line);
    expect(seen).toMatchObject({ exitCode: 2, out: '', order: [], installs: [], commands: [] });
    expect(errors).toMatch(/^failed: [^:]+: .+\n(?:why: .+\n)?next: .+\n$/);
    expect(errors.split(': ')[1]).toBe(code);
    expect(errors.split('\nnext: ')[1]).toContain(hint);
    expect(errors).not.toContain('secret');
  });

  it('passes words after -- on as arguments', async () => {
    expect((await run('lint -- --help')).commands).toEqual([['lint', '--', '--help']]);
  });

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
});

it('prints the help to stderr and exits with 2 without arguments', async () => {
  const environment = { BOOTWRIGHT_ROLE: 'master', BOOTWRIGHT_DISK_DEVICE: '/dev/sda' };
  const { exitCode, out, errors, order } = await run('', { environment });
  expect({ exitCode, out, order }).toEqual({ exitCode: 2, out: '', order: [] });
  expect(errors).toBe(bootwright().helpInformation());
});
