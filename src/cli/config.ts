import { installNotes, loadConfig, requireInstallable } from '../config/load.ts';
import { configJsonSchema, renderConfigJson, renderConfigText } from '../config/show.ts';
import { readSettings } from '../config/sources.ts';
import { chooseRole } from '../roles/choose.ts';
import type { InstallLine } from './commands.ts';
import { print, printNote } from './messages.ts';

/**
 * Prints every setting with its origin; nothing is touched.
 * @throws AgentError `cli.*`, `config.*`
 */
export async function runConfigShow({ argv, environment, format }: InstallLine): Promise<number> {
  const loaded = await loadConfig(readSettings(argv, environment));
  for (const note of loaded.notes) printNote('note', note);
  print(format === 'json' ? renderConfigJson(loaded) : renderConfigText(loaded));
  return 0;
}

/**
 * Checks that an install could start with the configuration; nothing is touched.
 * @throws AgentError `cli.*`, `config.*`, `role.*`
 */
export async function runConfigValidate({ argv, environment }: InstallLine): Promise<number> {
  const loaded = await loadConfig(readSettings(argv, environment));
  for (const note of installNotes(loaded)) printNote('note', note);
  await requireInstallable(loaded);
  chooseRole(loaded.config);
  print('the configuration is complete\n');
  return 0;
}

/** Prints the JSON Schema of a configuration file. */
export function runConfigSchema(): number {
  print(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
  return 0;
}
