import type { Environment } from '../config/environment.ts';
import { nearestName } from '../lib/nearest.ts';
import {
  type CommandRow,
  type CommandTable,
  file,
  format,
  inPod,
  oneOf,
  type OptionRow,
  podEnvironment,
  proxyEnvironment,
  anyValue,
} from './command-row.ts';
import { cliFailure } from './failures.ts';
import { layerCommands } from './layer/commands.ts';

const installEnds = {
  2: 'an install would be refused for its input, or the command line is wrong',
};

const reboot = {
  reboot: { summary: 'reboot the host at the end, if a change needs it' },
} as const satisfies Readonly<Record<string, OptionRow>>;

const onHost = {
  format: format('text', 'json'),
  verbose: { summary: 'log every command' },
} as const satisfies Readonly<Record<string, OptionRow>>;

const configCommands = {
  show: {
    summary: 'print every setting with its origin, secrets masked',
    takesInstallFlags: true,
    options: { format: format('text', 'json') },
    examples: [['bootwright config show --config host.yaml', 'see which value wins, and why']],
  },
  validate: {
    summary: 'list all that an install would refuse of the configuration',
    takesInstallFlags: true,
    options: { format: format('text', 'json') },
    exitCodes: installEnds,
    examples: [['bootwright config validate --config host.yaml', 'all findings at once']],
  },
  schema: {
    summary: 'print the JSON Schema of a configuration file',
    examples: [['bootwright config schema > bootwright.schema.json', 'for an editor']],
  },
} as const satisfies CommandTable;

const logsCommands = {
  read: {
    summary: 'say in ten lines what a bundle of logs says happened',
    description: [
      'The last line of a failed install names its bundle. It may be read on any machine: nothing of it is unpacked.',
    ],
    argument: { ...file, placeholder: 'BUNDLE', summary: 'the file, bundle-….tar.gz' },
    options: { format: format('text', 'json') },
    examples: [
      ['bootwright logs read /opt/install-dir/bundle-20261124T124100Z.tar.gz', 'see what failed'],
    ],
  },
} as const satisfies CommandTable;

const nodeCommands = {
  status: {
    summary: 'print what the host runs and what it boots next',
    options: onHost,
    environment: proxyEnvironment,
    examples: [['bootwright node status --format json', 'for a script']],
  },
  apply: {
    summary: 'stage an image for the next boot',
    argument: { ...anyValue('IMAGE'), summary: 'HOST/PATH:TAG or HOST/PATH@sha256:DIGEST' },
    options: {
      ...onHost,
      record: { summary: 'record the image for the Machine Config Daemon' },
      ...reboot,
      'append-karg': {
        summary: 'kernel argument to append; repeatable',
        value: anyValue('ARGUMENT'),
        isRepeatable: true,
      },
      'delete-karg': {
        summary: 'kernel argument to delete; repeatable',
        value: anyValue('ARGUMENT'),
        isRepeatable: true,
      },
    },
    environment: proxyEnvironment,
    examples: [
      ['bootwright node apply registry.example.com/os@sha256:… --reboot', 'boot into an image'],
    ],
  },
  rollback: {
    summary: 'drop the staged image, or return to the previous one',
    options: { ...onHost, ...reboot },
    environment: proxyEnvironment,
    examples: [['bootwright node rollback --reboot', 'return to the previous image']],
  },
  agent: {
    summary: 'in the cluster: keep this node at what its pool desires',
    description: ['Run by a daemon set. It ends by a signal only; the next run continues.'],
    options: inPod,
    environment: { NODE_NAME: 'name of the node; from spec.nodeName', ...podEnvironment },
  },
  controller: {
    summary: 'in the cluster: roll out to the nodes of pools',
    description: ['Run by a deployment. It ends by a signal only; the next run continues.'],
    options: inPod,
    environment: podEnvironment,
  },
} as const satisfies CommandTable;

/** The row of `bootwright watch`. */
const watchCommand = {
  summary: 'serve a page of the installation that a service has',
  description: [
    'Each host as a rail of its stages, what it waits for, the operators, a log with a filter, and a time line. The page can only be read.',
    'Goes on until Ctrl-C, also while the service is away or refuses; then the exit code is 0. After the installation has ended nothing is asked any more.',
  ],
  argument: {
    ...anyValue('URL'),
    summary:
      'inventory service; with /api/assisted-install/v2/clusters/ID no --cluster-id is needed',
    isOptional: true,
  },
  takesInstallFlags: true,
  options: {
    listen: {
      summary: 'where the page is served; port 0 takes a free one',
      value: anyValue('ADDRESS:PORT'),
      byDefault: '127.0.0.1:0',
    },
    'page-file': {
      summary: 'write the page, with its time line, to this file at the end',
      value: file,
    },
  },
  environment: { PULL_SECRET_TOKEN: 'token of the service', ...proxyEnvironment },
  examples: [
    [
      'bootwright watch https://service:6008 --cluster-id ID --cacert ca.pem',
      'follow an installation in a browser',
    ],
    [
      'bootwright watch https://service:6008 --cluster-id ID --page-file run.html',
      'keep the time line',
    ],
  ],
} as const satisfies CommandRow;

/**
 * The tree of commands: to add one, add its row here, and what it runs to `handlers.ts`, which does not compile without.
 * It is plain data, as help is printed and a command is found before the rest of the program is loaded.
 */
export const commands = {
  install: {
    summary: 'install this host; the same as flags alone',
    takesInstallFlags: true,
    examples: [
      [
        'bootwright -r worker --url https://service:6008 --cluster-id ID --host-id ID --boot-device /dev/sda',
        'install as the inventory service asks for it',
      ],
      ['bootwright install --config host.yaml', 'install from a file of settings'],
    ],
  },
  plan: {
    summary: 'print what an install would do',
    description: ['Nothing is touched. What would refuse the install is on standard error.'],
    takesInstallFlags: true,
    options: { format: format('text', 'json', 'dot', 'markdown') },
    exitCodes: installEnds,
    examples: [
      ['bootwright plan -r worker --boot-device /dev/sda', 'read what would happen'],
      ['bootwright plan -r bootstrap --format dot | dot -Tsvg > plan.svg', 'draw it'],
    ],
  },
  config: { summary: 'show, validate or describe the configuration', commands: configCommands },
  doctor: {
    summary: 'check this host before an install',
    description: [
      'Checks programs, memory, clock, firmware, disk, image, names and the service. Nothing is touched.',
    ],
    takesInstallFlags: true,
    options: { format: format('text', 'json') },
    examples: [['bootwright doctor --config host.yaml', 'on the live host, before the install']],
  },
  status: {
    summary: 'show where the run on this host is',
    description: [
      'Which step runs, what it waits for, how long the rest takes, and what a restart would do; of a dead agent too.',
    ],
    takesInstallFlags: true,
    options: { format: format('text', 'json') },
    examples: [['bootwright status', 'beside a running agent']],
  },
  watch: watchCommand,
  journal: {
    summary: 'show what an earlier run on this host did',
    takesInstallFlags: true,
    options: { format: format('text', 'json') },
    examples: [['bootwright journal --host.root /mnt', 'of a system that is mounted']],
  },
  logs: { summary: 'read the logs that a failed install left', commands: logsCommands },
  controller: {
    summary: 'in the cluster: complete its installation',
    description: [
      'Run by a job. It also runs where no command is given and the environment is that of assisted-installer-controller.',
    ],
    options: inPod,
    environment: {
      INVENTORY_URL: 'inventory service',
      CLUSTER_ID: 'id of the cluster there',
      OPENSHIFT_VERSION: 'version of the cluster',
      ...podEnvironment,
    },
  },
  layer: {
    summary: 'check, build, roll back OS images of pools',
    commands: layerCommands,
  },
  node: { summary: 'switch this node to an OS image, or back', commands: nodeCommands },
  completion: {
    summary: 'print the completion script of a shell',
    argument: { ...oneOf('SHELL', ['bash', 'zsh', 'fish']), summary: 'name of the shell' },
    examples: [
      [
        'bootwright completion bash > /etc/bash_completion.d/bootwright',
        'for every bash of this machine',
      ],
      ['bootwright completion zsh > ~/.zfunc/_bootwright', 'in a directory of fpath'],
      ['bootwright completion fish > ~/.config/fish/completions/bootwright.fish', 'for fish'],
    ],
  },
  help: {
    summary: 'print this text, or the page of a command',
    argument: {
      placeholder: 'COMMAND',
      completes: 'commands',
      summary: 'the command, down to its subcommand',
      isRepeatable: true,
      isOptional: true,
    },
    examples: [['bootwright help layer build', 'the same as bootwright layer build --help']],
  },
} as const satisfies CommandTable;

/** A command by its name. */
export type CommandName = keyof typeof commands;

/** A command line that takes the flags of an install. */
export interface InstallLine {
  readonly argv: readonly string[];
  readonly environment: Environment;
  /** One of the forms that the command prints. */
  readonly format: string;
}

type PathsIn<Table> = {
  [Name in keyof Table & string]: Table[Name] extends { readonly commands: infer Below }
    ? `${Name} ${PathsIn<Below>}`
    : Name;
}[keyof Table & string];

/** A command that does something: `plan`, `config show`. */
export type CommandPath = PathsIn<typeof commands>;

/** A command with the names that lead to it, `['config', 'show']`; the top of the tree has none. */
export interface CommandPlace {
  readonly path: readonly string[];
  readonly row: CommandRow;
}

/** The whole tree as one row. */
export const root: CommandPlace = {
  path: [],
  row: { summary: 'installs this bare-metal host as an OpenShift node', commands },
};

/** A place with all that is below it. */
export const commandsBelow = (place: CommandPlace): readonly CommandPlace[] => [
  place,
  ...Object.entries(place.row.commands ?? {}).flatMap(([name, row]) =>
    commandsBelow({ path: [...place.path, name], row }),
  ),
];

/** A command that was found on a command line, with what follows it. */
export interface Found {
  readonly place: CommandPlace;
  readonly args: readonly string[];
}

/**
 * Finds the command that the first words name: as deep as there are commands. Flags end the names.
 * @throws AgentError `cli.unknown-command` with what was probably meant
 */
export function findCommand(words: readonly string[], place: CommandPlace = root): Found {
  const below = place.row.commands;
  const [name, ...args] = words;
  if (below === undefined || name === undefined || name.startsWith('-')) {
    return { place, args: words };
  }
  const row = Object.hasOwn(below, name) ? below[name] : undefined;
  if (row !== undefined) return findCommand(args, { path: [...place.path, name], row });
  const near = nearestName(name, Object.keys(below));
  const before = ['bootwright', ...place.path].join(' ');
  const message =
    place === root
      ? `command ${JSON.stringify(name)} does not exist`
      : `\`${place.path.join(' ')}\` has no subcommand ${JSON.stringify(name)}`;
  throw cliFailure('cli.unknown-command', message, {
    ...(near !== undefined
      ? { hint: `did you mean ${before} ${near}` }
      : place === root
        ? {}
        : { hint: `run ${before} with one of ${Object.keys(below).join(', ')}` }),
    context: { command: name },
  });
}

/**
 * Refuses the name of a command, also mistyped, among the words behind the flags of an install.
 * @throws AgentError `cli.command-after-flags` with the right order
 */
export function refuseLateCommand(words: readonly string[], firstFlag = ''): void {
  const places = commandsBelow(root).slice(1);
  const named = (name: string | undefined, among: readonly CommandPlace[]) =>
    among.find(({ path }) => path.at(-1) === name);
  for (const [at, word] of words.entries()) {
    const place = named(word, places) ?? named(nearestName(word, Object.keys(commands)), places);
    if (place === undefined) continue;
    const { path } = named(words[at + 1], commandsBelow(place).slice(1)) ?? place;
    const [flag = ''] = firstFlag.split('=');
    throw cliFailure(
      'cli.command-after-flags',
      `${JSON.stringify(word)} is written after flags, where an install would ignore it`,
      {
        hint: `write the command first: bootwright ${path.join(' ')} ${flag} …`,
        context: { command: path.join(' ') },
      },
    );
  }
}
