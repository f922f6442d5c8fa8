import { type Environment, isControllerEnvironment } from '../../config/environment.ts';
import { asksHelp, wordsBehindFlags } from '../../config/flags.ts';
import { readSettings } from '../../config/sources.ts';
import { version } from '../../model/version.ts';
import type * as Commands from './commands.ts';
import { exitCodeOf, failureText } from '../messages.ts';
import type { Program } from './program.ts';
import { type StopSignal, stopSignal } from '../stop-signal.ts';

/** What the start of the program needs of the process. */
export interface StartContext {
  /** The arguments of the program. */
  readonly argv: readonly string[];
  readonly environment: Environment;
  readonly print: (text: string) => void;
  readonly printError: (text: string) => void;
  /** Loads what an install or the controller runs, which takes longer than everything before it. */
  readonly loadProgram: (of: 'install' | 'controller') => Promise<Program>;
  /** Loads the tree of commands. */
  readonly loadCommands: () => Promise<Pick<typeof Commands, 'runCommand' | 'bootwright'>>;
  /** Called before a command runs that is no install. */
  readonly beforeCommand: () => void;
}

/**
 * Runs one command line and resolves with the exit code: flags alone mean `install`. Help, the
 * version and the refusal of a wrong command line need no more of the program than this and the
 * tree of commands.
 */
export async function start(context: StartContext): Promise<number> {
  const { environment } = context;
  // `-help` is what Go's flags take for `--help`.
  const argv = context.argv.map((word) => (word === '-help' ? '--help' : word));
  const kubeconfig = controllerLine(argv, environment);
  if (kubeconfig !== undefined) {
    const { runController } = await context.loadProgram('controller');
    return runController(environment, ...kubeconfig);
  }
  const [first = ''] = argv;
  const isInstall = first === 'install' || first.startsWith('-');
  if (isInstall && !asksHelp(first === 'install' ? argv.slice(1) : argv))
    return startInstall(context, first === 'install' ? argv.slice(1) : argv);
  const { runCommand } = await context.loadCommands();
  const { print, printError, beforeCommand } = context;
  const line = isInstall ? [...argv.slice(0, Number(first === 'install')), '--help'] : argv;
  return runCommand({ argv: line, environment, print, printError, beforeRun: beforeCommand });
}

/**
 * The argument of a controller that is started as its job does, without the parser of all commands:
 * nothing at all, or `controller`, with a kubeconfig at most.
 */
function controllerLine(
  argv: readonly string[],
  environment: Environment,
): readonly string[] | undefined {
  const [command, option, file = '-', ...more] = argv;
  if (command === undefined) return isControllerEnvironment(environment) ? [] : undefined;
  if (command !== 'controller' || more.length > 0) return undefined;
  if (option === undefined) return [];
  return option === '--kubeconfig' && /^[^-]/.test(file) ? [file] : undefined;
}

async function startInstall(context: StartContext, argv: readonly string[]): Promise<number> {
  using stop = stopSignal();
  try {
    await refuseCommands(context, argv);
    return await runInstall(context, argv, stop);
  } catch (thrown) {
    context.printError(failureText(thrown));
    return stop.exitCode() ?? exitCodeOf(thrown);
  }
}

/** @throws AgentError `cli.command-after-flags` before anything is read */
async function refuseCommands(context: StartContext, argv: readonly string[]): Promise<void> {
  const words = wordsBehindFlags(argv);
  if (words.length === 0) return;
  const { bootwright } = await context.loadCommands();
  bootwright().refuseLate(words, argv[0]);
}

/**
 * @throws AgentError what is wrong before the install begins; what comes then is reported by the
 * run
 */
async function runInstall(
  context: StartContext,
  argv: readonly string[],
  stop: StopSignal,
): Promise<number> {
  const settings = readSettings(argv, context.environment);
  if (settings.flags.asksVersion) {
    context.print(`${version}\n`);
    return 0;
  }
  const program = await context.loadProgram('install');
  return program.runInstall({ settings, stop });
}
