import type { Command } from 'commander';
import { nearestName } from '../lib/nearest.ts';
import {
  actionsOf,
  commands,
  configActions,
  installUsage,
  listFormats,
  planFormats,
  shells,
} from './commands.ts';
import { flagFailure } from '../config/failures.ts';
import { installFlags } from '../config/flags.ts';
import { flagName } from '../config/go-flags.ts';
import { cliFailure } from './failures.ts';
import { defineLayer } from './layer/define.ts';
import { defineNode } from './node/define-node.ts';
import type { CommandCall } from './program.ts';

/** A command that was understood and waits to be run; resolves with the exit code. */
export type ReadyCommand = () => Promise<number>;

/**
 * Understands every command but `install`. A command has few options of its own; every other flag
 * is one of an install, so that `plan` takes the same line.
 * @throws AgentError `cli.bad-flag`, `cli.unknown-command`
 */
export async function parseCommand(call: CommandCall): Promise<ReadyCommand> {
  requireAction(call);
  const { Command, CommanderError } = await import('commander');
  let ready: ReadyCommand = () => Promise.resolve(0);
  const take = (run: ReadyCommand): void => {
    ready = run;
  };
  const root = new Command('bootwright');
  const definitions = [
    defineInstall,
    definePlan,
    defineConfig,
    defineJournal,
    defineAfterPivot,
    defineLayer,
    defineNode,
    defineCompletion,
    defineHelp,
  ];
  for (const define of definitions) {
    define(root, { call, take });
  }
  for (const command of [root, ...root.commands, ...root.commands.flatMap((c) => c.commands)]) {
    command.exitOverride().configureOutput({ writeErr: () => undefined });
  }
  try {
    await root.parseAsync([call.command, ...call.words], { from: 'user' });
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    if (thrown.exitCode !== 0) throw misuse(thrown.message, call);
  }
  return ready;
}

interface Definition {
  readonly call: CommandCall;
  readonly take: (run: ReadyCommand) => void;
}

interface FormatOption {
  readonly format: string;
}

/** Flags alone mean `install`, so nothing parses it here: it completes the tree of commands. */
function defineInstall(root: Command): void {
  const install = root.command('install').description(commands.install);
  for (const flag of installFlags()) {
    const value = flag.isBoolean ? '' : ` <${flag.placeholder ?? 'value'}>`;
    const option = root.createOption(`${flagName(flag.name)}${value}`, flag.summary);
    install.addOption(flag.choices === undefined ? option : option.choices(flag.choices));
  }
}

function definePlan(root: Command, { call, take }: Definition): void {
  withInstallFlags(root.command('plan').description(commands.plan))
    .addOption(formatOption(root, planFormats))
    .action((options: FormatOption, command: Command) => {
      take(async () => {
        const { runPlan } = await import('./plan-command.ts');
        return runPlan({ words: command.args, environment: call.environment, ...options });
      });
    });
}

function defineConfig(root: Command, { call, take }: Definition): void {
  const config = root.command('config').description(commands.config);
  const run = (action: keyof typeof configActions, words: readonly string[], format: string) => {
    take(async () => {
      const { runConfig } = await import('./config-command.ts');
      return runConfig({ action, words, environment: call.environment, format });
    });
  };
  withInstallFlags(config.command('show').description(configActions.show))
    .addOption(formatOption(root, listFormats))
    .action(({ format }: FormatOption, command: Command) => run('show', command.args, format));
  withInstallFlags(config.command('validate').description(configActions.validate)).action(
    (_: unknown, command: Command) => run('validate', command.args, 'text'),
  );
  config
    .command('schema')
    .description(configActions.schema)
    .action(() => run('schema', [], 'json'));
}

function defineJournal(root: Command, { call, take }: Definition): void {
  withInstallFlags(root.command('journal').description(commands.journal))
    .addOption(formatOption(root, listFormats))
    .action((options: FormatOption, command: Command) => {
      take(async () => {
        const { runJournal } = await import('./journal-command.ts');
        return runJournal({ words: command.args, environment: call.environment, ...options });
      });
    });
}

function defineAfterPivot(root: Command, { call, take }: Definition): void {
  root
    .command('after-pivot')
    .description(commands['after-pivot'])
    .option('--kubeconfig <file>', 'credentials for the cluster; those of the pod without it')
    .option('--verbose', 'log at level debug', false)
    .action((options: { readonly kubeconfig?: string; readonly verbose: boolean }) => {
      const { kubeconfig, verbose } = options;
      take(async () => {
        const { runAfterPivot } = await import('./after-pivot.ts');
        return runAfterPivot({
          environment: call.environment,
          isVerbose: verbose,
          ...(kubeconfig === undefined ? {} : { kubeconfig }),
        });
      });
    });
}

function defineCompletion(root: Command, { take }: Definition): void {
  root
    .command('completion')
    .description(commands.completion)
    .addArgument(root.createArgument('<shell>', 'name of the shell').choices([...shells]))
    .action((shell: (typeof shells)[number]) => {
      take(async () => {
        const { completionScript } = await import('./completion.ts');
        process.stdout.write(completionScript(shell, root));
        return 0;
      });
    });
}

function defineHelp(root: Command): void {
  root.command('help').description(commands.help);
}

const formatOption = (root: Command, choices: readonly string[]) =>
  root
    .createOption('--format <form>', 'form of the output')
    .choices([...choices])
    .default(choices[0]);

/** The flags of an install are read by the same code as there; they pass through here unread. */
const withInstallFlags = (command: Command): Command =>
  command.usage(installUsage).allowUnknownOption().allowExcessArguments();

function requireAction({ command, words: [action] }: CommandCall): void {
  const known = actionsOf[command];
  if (known === undefined) return;
  const actions = Object.keys(known);
  if (['-h', '--help', ...actions].includes(action ?? '')) return;
  const near = action === undefined ? undefined : nearestName(action, actions);
  throw cliFailure(
    'cli.unknown-command',
    action === undefined
      ? `command ${command}: says not what to do`
      : `command ${command} ${JSON.stringify(action)} does not exist`,
    {
      hint:
        near === undefined
          ? `write bootwright ${command} and one of ${actions.join(', ')}`
          : `did you mean bootwright ${command} ${near}`,
    },
  );
}

const misuse = (message: string, { command }: CommandCall): Error =>
  flagFailure(
    'cli.bad-flag',
    `command ${command}: ${message.replace(/^error: /, '').replace(/\.$/, '')}`,
    { hint: `see "bootwright ${command} --help"` },
  );
