import { Command, CommanderError } from 'commander';
import { flagFailure } from '../config/failures.ts';
import { installFlags } from '../config/flags.ts';
import { flagName } from '../config/go-flags.ts';
import { nearestName } from '../lib/nearest.ts';
import {
  actionsOf,
  commands,
  configActions,
  type Definition,
  formatOption,
  type InstallLine,
  installUsage,
  listFormats,
  nodeActions,
  planFormats,
  type ReadyCommand,
  shells,
} from './commands.ts';
import { completionScript } from './completion.ts';
import { runConfigSchema, runConfigShow, runConfigValidate } from './config.ts';
import { runDoctor } from './doctor/doctor.ts';
import { cliFailure } from './failures.ts';
import { runJournal } from './journal.ts';
import { defineLayer } from './layer/define.ts';
import { print } from './messages.ts';
import { type NodeAction, type NodeOptions, runNode } from './node.ts';
import { runPlan } from './plan.ts';
import { runStatus } from './status.ts';
import type { CommandCall } from './program.ts';

/**
 * Parses every command but `install`. A command has few options of its own; every other flag is one
 * of an install: `plan` takes the same command line.
 * @throws AgentError `cli.bad-flag`, `cli.unknown-command`
 */
export async function parseCommand(call: CommandCall): Promise<ReadyCommand> {
  requireAction(call);
  let ready: ReadyCommand = () => Promise.resolve(0);
  const take = (run: ReadyCommand): void => {
    ready = run;
  };
  const root = new Command('bootwright');
  const definitions = [
    defineInstall,
    definePlan,
    defineConfig,
    defineDoctor,
    defineStatus,
    defineJournal,
    defineController,
    defineLayer,
    defineNode,
    defineCompletion,
    defineHelp,
  ];
  for (const define of definitions) {
    define(root, { environment: call.environment, take });
  }
  for (const command of [root, ...root.commands, ...root.commands.flatMap((c) => c.commands)]) {
    command.exitOverride().configureOutput({ writeErr: () => undefined });
  }
  try {
    await root.parseAsync([call.command, ...call.args], { from: 'user' });
  } catch (thrown) {
    if (!(thrown instanceof CommanderError)) throw thrown;
    if (thrown.exitCode !== 0) throw misuse(thrown.message, call);
  }
  return ready;
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

function definePlan(root: Command, definition: Definition): void {
  defineInstallLine(root.command('plan').description(commands.plan), definition, {
    formats: planFormats,
    run: runPlan,
  });
}

function defineConfig(root: Command, definition: Definition): void {
  const config = root.command('config').description(commands.config);
  defineInstallLine(config.command('show').description(configActions.show), definition, {
    formats: listFormats,
    run: runConfigShow,
  });
  defineInstallLine(config.command('validate').description(configActions.validate), definition, {
    formats: listFormats,
    run: runConfigValidate,
  });
  config
    .command('schema')
    .description(configActions.schema)
    .action(() => {
      definition.take(() => Promise.resolve(runConfigSchema()));
    });
}

function defineDoctor(root: Command, definition: Definition): void {
  defineInstallLine(root.command('doctor').description(commands.doctor), definition, {
    formats: listFormats,
    run: runDoctor,
  });
}

function defineStatus(root: Command, definition: Definition): void {
  defineInstallLine(root.command('status').description(commands.status), definition, {
    formats: listFormats,
    run: runStatus,
  });
}

function defineJournal(root: Command, definition: Definition): void {
  defineInstallLine(root.command('journal').description(commands.journal), definition, {
    formats: listFormats,
    run: runJournal,
  });
}

/** The flags of an install are read by the same code as there; they pass through here unread. */
function defineInstallLine(
  command: Command,
  { environment, take }: Definition,
  {
    formats,
    run,
  }: {
    readonly formats?: readonly string[];
    readonly run: (line: InstallLine) => Promise<number>;
  },
): void {
  if (formats !== undefined) command.addOption(formatOption(command, formats));
  command
    .usage(installUsage)
    .allowUnknownOption()
    .allowExcessArguments()
    .action(({ format = 'text' }: { readonly format?: string }) => {
      take(() => run({ argv: command.args, environment, format }));
    });
}

/** Options of the programs that run in a pod. */
interface ClusterOptions {
  readonly kubeconfig?: string;
  readonly verbose: boolean;
}

/** A program that runs in a pod with the credentials of it. */
function defineInCluster(
  command: Command,
  { take }: Definition,
  run: (options: ClusterOptions) => Promise<number>,
): void {
  command
    .option(
      '--kubeconfig <file>',
      'kubeconfig of the cluster; default: the service account of the pod',
    )
    .option('--verbose', 'log at level debug', false)
    .action((options: ClusterOptions) => {
      take(() => run(options));
    });
}

function defineController(root: Command, definition: Definition): void {
  const command = root.command('controller').description(commands.controller);
  defineInCluster(command, definition, async (options) => {
    const { runController } = await import('./controller.ts');
    return runController({ ...options, environment: definition.environment });
  });
}

function defineCompletion(root: Command, { take }: Definition): void {
  root
    .command('completion')
    .description(commands.completion)
    .addArgument(root.createArgument('<shell>', 'name of the shell').choices([...shells]))
    .action((shell: (typeof shells)[number]) => {
      take(() => {
        print(completionScript(shell, root));
        return Promise.resolve(0);
      });
    });
}

function defineHelp(root: Command): void {
  root.command('help').description(commands.help);
}

function defineNode(root: Command, definition: Definition): void {
  const { environment, take } = definition;
  const node = root.command('node').description(commands.node);
  const declare = (action: NodeAction): Command =>
    node
      .command(action)
      .description(nodeActions[action])
      .addOption(formatOption(node, listFormats))
      .option('--verbose', 'log every command', false);
  const ready = (action: NodeAction, options: NodeOptions, image = ''): void => {
    take(() => runNode({ ...options, action, image, environment }));
  };
  const agent = node.command('agent').description(nodeActions.agent);
  defineInCluster(agent, definition, async (options) => {
    const { runNodeAgent } = await import('./node-agent.ts');
    return runNodeAgent({ ...options, environment });
  });
  declare('status').action((options: NodeOptions) => ready('status', options));
  declare('apply')
    .argument('<image>', 'HOST/PATH:TAG or HOST/PATH@sha256:DIGEST')
    .option('--record', 'record the image for the Machine Config Daemon', false)
    .option('--reboot', 'reboot the host at the end, if a change needs it', false)
    .option('--append-karg <argument>', 'kernel argument to append', collect)
    .option('--delete-karg <argument>', 'kernel argument to delete', collect)
    .action((image: string, options: NodeOptions) => ready('apply', options, image));
  declare('rollback')
    .option('--reboot', 'reboot the host at the end, if a change needs it', false)
    .action((options: NodeOptions) => ready('rollback', options));
  const controller = node.command('controller').description(nodeActions.controller);
  defineInCluster(controller, definition, async (options) => {
    const { runNodeController } = await import('./node-controller.ts');
    return runNodeController({ ...options, environment });
  });
}

const collect = (value: string, earlier: readonly string[] = []): readonly string[] => [
  ...earlier,
  value,
];

function requireAction({ command, args: [action] }: CommandCall): void {
  const known = actionsOf[command];
  if (known === undefined) return;
  const actions = Object.keys(known);
  if (['-h', '--help', ...actions].includes(action ?? '')) return;
  const near = action === undefined ? undefined : nearestName(action, actions);
  throw cliFailure(
    'cli.unknown-command',
    action === undefined
      ? `\`${command}\` needs a subcommand`
      : `\`${command}\` has no subcommand ${JSON.stringify(action)}`,
    {
      hint:
        near === undefined
          ? `run bootwright ${command} with one of ${actions.join(', ')}`
          : `did you mean bootwright ${command} ${near}`,
    },
  );
}

const misuse = (message: string, { command }: CommandCall): Error =>
  flagFailure(
    'cli.bad-flag',
    `\`${command}\`: ${message.replace(/^error: /, '').replace(/\.$/, '')}`,
    { hint: `see "bootwright ${command} --help"` },
  );
