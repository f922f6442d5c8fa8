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
    // A command that would run ends as a bug, 1; pages and refusals come from the real tree.
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
    'prints help for "%s" and loads nothing',
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
  ])('prints the page of a command for "%s" and loads nothing', async (line, page) => {
    const { exitCode, out, order } = await run(line);
    expect({ exitCode, order }).toEqual({ exitCode: 0, order: [] });
    expect(out).toMatch(new RegExp(`^Usage: bootwright ${page}( |$)`, 'm'));
  });

  it.each([
    ['help layer biuld', 'did you mean bootwright layer build'],
    ['help plan more', 'bootwright help plan'],
  ])('refuses "%s" with what was meant', async (line, hint) => {
    const { exitCode, errors, order } = await run(line);
    expect({ exitCode, order }).toEqual({ exitCode: 2, order: [] });
    expect(errors).toMatch(/^failed: cli\.unknown-command: /);
    expect(errors).toContain(hint);
  });

  it('takes what follows -- for an argument', async () => {
    expect((await run('lint -- --help')).commands).toEqual([['lint', '--', '--help']]);
  });

  it.each(['--version', 'install -v'])(
    'prints the version for %s and loads nothing',
    async (line) => {
      const { exitCode, out, order } = await run(line);
      expect({ exitCode, order }).toEqual({ exitCode: 0, order: [] });
      expect(out).toMatch(/^\d+\.\d+\.\d+\n$/);
    },
  );

  it('runs the controller in its job, which gives no argument', async () => {
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

  it('means the same with and without the word install', async () => {
    const bare = await run(whole);
    const named = await run(`install ${whole}`);
    expect(named.installs).toEqual(bare.installs);
  });

  it.each([
    ['an unknown flag', `${whole} --bogus`],
    ['help that is neither asked for nor not', `${whole} --help=x`],
  ])('refuses %s with what is wrong and exit 2, and loads nothing', async (_, line) => {
    const { exitCode, errors, out, order, installs } = await run(line);
    expect({ exitCode, out, order, installs }).toEqual({
      exitCode: 2,
      out: '',
      order: [],
      installs: [],
    });
    expect(errors).toMatch(/^failed: (?:cli|config)\.[a-z-]+: .+\n(?:why: .+\n)?next: .+\n$/);
  });

  it('prints what is wrong before the install begins', async () => {
    const begins = () => Promise.reject(new Error('a file is missing'));
    const { exitCode, errors } = await run(whole, { begins });
    expect(exitCode).toBe(1);
    expect(errors).toContain('a file is missing');
  });

  it('hands every other command on and returns its exit code', async () => {
    const { exitCode, commands } = await run('plan -r worker --format json');
    expect(exitCode).toBe(1);
    expect(commands).toEqual([['plan', '-r', 'worker', '--format', 'json']]);
  });
});

describe('the command of a line', () => {
  it.each([
    ['flags alone', whole],
    ['the command', `install ${whole}`],
    ['flags before a word that is no command, as with assisted-installer', `${whole} false`],
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
  ])('is refused for %s', async (word, hint) => {
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
  ])('ends "%s" before anything is read, sent or loaded', async (words, right) => {
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

  it('is not asked for by a page that is asked for first', async () => {
    expect(await run('-h plan')).toMatchObject({ exitCode: 0, errors: '', order: [] });
  });
});

it('prints its help for nothing at all, and ends as for a wrong command line', async () => {
  const environment = { BOOTWRIGHT_ROLE: 'master', BOOTWRIGHT_DISK_DEVICE: '/dev/sda' };
  const { exitCode, out, errors, order } = await run('', { environment });
  expect({ exitCode, out, order }).toEqual({
    exitCode: 2,
    out: '',
    order: [],
  });
  expect(errors).toBe(bootwright().helpInformation());
});
