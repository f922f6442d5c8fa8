import { setFlagsFromString } from 'node:v8';
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
  const { reportFailedStart: report } = await import('./service.ts');
  return report(start);
}

/** Runs any other command; a failure ends in three lines and the exit code of its kind. */
export async function runCommand(call: CommandCall): Promise<number> {
  if (call.command === 'controller') preferMemory();
  try {
    const { parseCommand } = await import('./parse-command.ts');
    const run = await parseCommand(call);
    return await run();
  } catch (thrown) {
    printError(failureText(thrown));
    return exitCodeOf(thrown);
  }
}

/**
 * Makes V8 interpret what it would compile, and collect garbage sooner: with 10,000 certificate requests the controller then
 * takes 119 MiB instead of 172. It mostly waits.
 */
function preferMemory(): void {
  const flags = ['optimize-for-size', 'no-sparkplug', 'no-maglev', 'no-turbofan'];
  for (const flag of flags) setFlagsFromString(`--${flag}`);
}
