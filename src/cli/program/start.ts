import { type Environment, isControllerEnvironment } from '../../config/environment.ts';
import { asksHelp, readFlags, positionalArguments } from '../../config/flags.ts';
import { version } from '../../model/version.ts';
import type * as Commands from './commands.ts';
import { exitCodeOf, failureText } from '../messages.ts';
import type * as Program from './program.ts';
import { stopSignal } from '../stop-signal.ts';

/** Inputs of the program's start from its process. */
export interface StartContext {
  /** The arguments of the program. */
  readonly argv: readonly string[];
  readonly environment: Environment;
  readonly print: (text: string) => void;
  readonly printError: (text: string) => void;
  /** Loads the code of an install or of the controller, which takes longer than all before it. */
  readonly loadProgram: () => Promise<typeof Program>;
  /** Loads the tree of commands. */
  readonly loadCommands: () => Promise<Pick<typeof Commands, 'runCommand' | 'bootwright'>>;
}

/**
 * Runs one command line and resolves with the exit code. Flags alone mean `install`. Help, the
 * version and the refusal of a wrong command line load only this code and the tree of commands.
 */
export async function start(context: StartContext): Promise<number> {
  const { environment } = context;
  // Go's flags take `-help` for `--help`.
  const argv = context.argv.map((word) => (word === '-help' ? '--help' : word));
  const kubeconfig = controllerLine(argv, environment);
  if (kubeconfig !== undefined) {
    const { runController } = await context.loadProgram();
    return runController(environment, ...kubeconfig);
  }
  const [first = ''] = argv;
  const isNamed = first === 'install';
  const flags = isNamed ? argv.slice(1) : argv;
  const isInstall = isNamed || first.startsWith('-');
  if (isInstall && !asksHelp(flags)) return startInstall(context, flags);
  const { runCommand } = await context.loadCommands();
  const line = isInstall ? [...argv.slice(0, Number(isNamed)), '--help'] : argv;
  return runCommand({ ...context, argv: line });
}

/**
 * The kubeconfig of a controller that its job starts without the parser of all commands: the line
 * is empty or `controller`, with at most a kubeconfig.
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

/** Prints errors before the install begins; the run reports later ones. */
async function startInstall(context: StartContext, argv: readonly string[]): Promise<number> {
  using stop = stopSignal();
  try {
    const words = positionalArguments(argv);
    if (words.length > 0) {
      const { bootwright } = await context.loadCommands();
      bootwright().refuseLate(words, argv[0]);
    }
    if (readFlags(argv).asksVersion) {
      context.print(`${version}\n`);
      return 0;
    }
    const { runInstall } = await context.loadProgram();
    return await runInstall(argv, context.environment, stop);
  } catch (thrown) {
    context.printError(failureText(thrown));
    return stop.exitCode() ?? exitCodeOf(thrown);
  }
}
