import type { Environment } from '../config/environment.ts';
import type { CommandName } from './commands.ts';
import { exitCodeOf, failureText } from './messages.ts';
import type { FirstReport } from './install-contract.ts';
import { installNotes, loadConfig, requireInstallable } from '../config/load.ts';
import { readSettings } from '../config/sources.ts';

/** What runs behind the start of the program; loaded as a whole when it is needed. */
export interface Program {
  readonly runInstall: (call: InstallCall) => Promise<number>;
  readonly runCommand: (call: CommandCall) => Promise<number>;
}

/** An install as the start of the program hands it over. */
export interface InstallCall {
  readonly words: readonly string[];
  readonly environment: Environment;
  readonly firstReport?: FirstReport;
}

/** Another command as the start of the program hands it over. */
export interface CommandCall {
  readonly command: Exclude<CommandName, 'install' | 'help'>;
  readonly words: readonly string[];
  readonly environment: Environment;
}

/** Runs an install; a failure ends in three lines and the exit code of its kind. */
export async function runInstall(call: InstallCall): Promise<number> {
  return told(async () => {
    const loaded = await loadConfig(readSettings(call.words, call.environment));
    await requireInstallable(loaded);
    const { firstReport } = call;
    const early = firstReport === undefined ? {} : { firstReport };
    const { install } = await import('./install.ts');
    return install(
      { ...loaded, notes: installNotes(loaded), ...early },
      { isFresh: loaded.isFresh },
    );
  });
}

/** Runs any other command. */
export async function runCommand(call: CommandCall): Promise<number> {
  return told(async () => {
    const { parseCommand } = await import('./parse-command.ts');
    const run = await parseCommand(call);
    return run();
  });
}

async function told(work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (thrown) {
    process.stderr.write(failureText(thrown));
    return exitCodeOf(thrown);
  }
}
