import type { Command, Option } from 'commander';
import type { Environment } from '../config/environment.ts';

/** The commands with what each is for, in the order of the help text. */
export const commands = {
  install: 'install this host; the same as flags alone',
  plan: 'print what an install would do',
  config: 'show, validate or describe the configuration',
  doctor: 'check this host before an install',
  status: 'show where the run on this host is',
  journal: 'show what an earlier run on this host did',
  controller: 'in the cluster: complete its installation',
  layer: 'check, build, roll back OS images of pools',
  node: 'switch this node to an OS image, or back',
  completion: 'print the completion script of a shell',
  help: 'print this text',
} as const;

/** A command by its name. */
export type CommandName = keyof typeof commands;

/** Whether a word is a command. */
export const isCommandName = (word: string): word is CommandName => Object.hasOwn(commands, word);

/** The forms that `plan` can print. */
export const planFormats = ['text', 'json', 'dot', 'markdown'] as const;

/** The forms that `config show` and `journal` can print. */
export const listFormats = ['text', 'json'] as const;

/** The shells that a completion script exists for. */
export const shells = ['bash', 'zsh', 'fish'] as const;

/** What `node` can do. */
export const nodeActions = {
  status: 'print what the host runs and what it boots next',
  apply: 'stage an image for the next boot',
  rollback: 'drop the staged image, or return to the previous one',
  agent: 'in the cluster: keep this node at what its pool desires',
  controller: 'in the cluster: roll out to the nodes of pools',
} as const;

/** What `config` can do. */
export const configActions = {
  show: 'print every setting with its origin, secrets masked',
  validate: 'list all that an install would refuse of the configuration',
  schema: 'print the JSON Schema of a configuration file',
} as const;

/** What `layer` can do: from files alone, on any machine; the last two in a cluster. */
export const layerActions = {
  lint: 'check MachineOSConfigs and Containerfiles',
  render: 'write the build context of a pool to a directory',
  name: 'print the name of the MachineOSBuild that the cluster would create',
  build: 'build and check the OS image of a pool on this machine',
  push: 'push an image that was built here, and print its pull spec',
  status: 'print the images of the pools of a cluster, and what runs them',
  rollback: 'return a pool to the OS of its release',
} as const;

/** How a command is used that takes the flags of an install too. */
export const installUsage = '[options] [flags of an install]';

/** The commands with subcommands. */
export const actionsOf: Partial<Record<CommandName, Readonly<Record<string, string>>>> = {
  config: configActions,
  layer: layerActions,
  node: nodeActions,
};

/** A parsed command; runs it and resolves with the exit code. */
export type ReadyCommand = () => Promise<number>;

/** What the definition of a command is given: the environment, and a place for what the command line asks for. */
export interface Definition {
  readonly environment: Environment;
  readonly take: (run: ReadyCommand) => void;
}

/** The option `--format` with the forms that a command prints. */
export const formatOption = (command: Command, forms: readonly string[]): Option =>
  command.createOption('--format <format>', 'output format').choices(forms).default(forms[0]);

/** A command line that takes the flags of an install. */
export interface InstallLine {
  readonly argv: readonly string[];
  readonly environment: Environment;
  /** One of the forms that the command prints. */
  readonly format: string;
}
