import type { Environment } from '../config/environment.ts';
import { loadConfig, requireInstallable } from '../config/load.ts';
import type { CommandSettings } from '../config/sources.ts';
import type { CommandName } from './commands.ts';
import type { InstallStart } from './install.ts';
import { exitCodeOf, failureText, printError } from './messages.ts';
import type { FailedStart } from './service.ts';

/** What runs behind the start of the program; loaded as a whole when it is needed. */
export interface Program {
  /** @throws AgentError what is wrong before the install begins; the service has not heard of it */
  readonly runInstall: (call: InstallCall) => Promise<number>;
  readonly reportFailedStart: (start: FailedStart) => Promise<void>;
  readonly runCommand: (call: CommandCall) => Promise<number>;
}

/** An install as the start of the program hands it over. */
export interface InstallCall extends InstallStart {
  readonly settings: CommandSettings;
}

/** Another command as the start of the program hands it over. */
export interface CommandCall {
  readonly command: Exclude<CommandName, 'install' | 'help'>;
  readonly args: readonly string[];
  readonly environment: Environment;
}

/**
 * Runs an install.
 * @throws AgentError what is wrong before the install begins
 */
export async function runInstall({ settings, ...start }: InstallCall): Promise<number> {
  const loaded = await loadConfig(settings);
  await requireInstallable(loaded);
  const { install } = await import('./install.ts');
  return install(loaded, start);
}

/** Reports what is wrong before an install begins, as far as the service is named. */
export async function reportFailedStart(start: FailedStart): Promise<void> {
  const { reportStartFailure: report } = await import('./service.ts');
  return report(start);
}

/** Runs any other command; a failure ends in three lines and the exit code of its kind. */
export async function runCommand(call: CommandCall): Promise<number> {
  try {
    if (isPlainController(call)) {
      const [, kubeconfig] = call.args;
      const { runController } = await import('./controller.ts');
      return await runController({
        ...(kubeconfig === undefined ? {} : { kubeconfig }),
        ...{ verbose: false, environment: call.environment },
      });
    }
    const { parseCommand } = await import('./parse-command.ts');
    const run = await parseCommand(call);
    return await run();
  } catch (thrown) {
    printError(failureText(thrown));
    return exitCodeOf(thrown);
  }
}

/** The controller as its job runs it: the parser of all commands would take five of its megabytes. */
const isPlainController = ({ command, args: [option, file, ...more] }: CommandCall): boolean =>
  command === 'controller' &&
  (option === undefined || (option === '--kubeconfig' && /^[^-]/.test(file ?? ''))) &&
  more.length === 0;
