import type { Environment } from '../config/environment.ts';
import { loadConfig, requireInstallable } from '../config/load.ts';
import type { CommandSettings } from '../config/sources.ts';
import type { CommandName } from './commands.ts';
import type { InstallStart } from './install.ts';
import { exitCodeOf, failureText } from './messages.ts';

/** What runs behind the start of the program; loaded as a whole when it is needed. */
export interface Program {
  readonly runInstall: (call: InstallCall) => Promise<number>;
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

/** Runs an install; a failure ends in three lines and the exit code of its kind. */
export async function runInstall({ settings, ...start }: InstallCall): Promise<number> {
  return exitCodeFrom(async () => {
    const loaded = await loadConfig(settings);
    await requireInstallable(loaded);
    const { install } = await import('./install.ts');
    return install(loaded, start);
  });
}

/** Runs any other command. */
export async function runCommand(call: CommandCall): Promise<number> {
  return exitCodeFrom(async () => {
    const { parseCommand } = await import('./parse-command.ts');
    const run = await parseCommand(call);
    return run();
  });
}

async function exitCodeFrom(work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (thrown) {
    process.stderr.write(failureText(thrown));
    return exitCodeOf(thrown);
  }
}
