import { installNotes, loadConfig, requireInstallable } from '../config/load.ts';
import { configJsonSchema, renderConfigJson, renderConfigText } from '../config/show.ts';
import { readSettings } from '../config/sources.ts';
import { chooseRole } from '../roles/choose.ts';
import type { InstallLine } from './commands.ts';

/**
 * Prints every setting with its origin; nothing is touched.
 * @throws AgentError `cli.*`, `config.*`
 */
export async function runConfigShow({ argv, environment, format }: InstallLine): Promise<number> {
  const loaded = await loadConfig(readSettings(argv, environment));
  printNotes(loaded.notes);
  process.stdout.write(format === 'json' ? renderConfigJson(loaded) : renderConfigText(loaded));
  return 0;
}

/**
 * Checks that an install could start with the configuration; nothing is touched.
 * @throws AgentError `cli.*`, `config.*`, `role.*`
 */
export async function runConfigValidate({ argv, environment }: InstallLine): Promise<number> {
  const loaded = await loadConfig(readSettings(argv, environment));
  printNotes(installNotes(loaded));
  await requireInstallable(loaded);
  chooseRole(loaded.config);
  process.stdout.write('the configuration is complete\n');
  return 0;
}

/** Prints the JSON Schema of a configuration file. */
export function runConfigSchema(): number {
  process.stdout.write(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  return 0;
}

/** Prints what a person should know of a configuration, a line each on standard error. */
export function printNotes(notes: readonly string[]): void {
  process.stderr.write(notes.map((note) => `note: ${note}\n`).join(''));
}
