import { requireComplete } from '../config/complete.ts';
import type { Environment } from '../config/environment.ts';
import { configJsonSchema, renderConfigJson, renderConfigText } from '../config/show.ts';
import { chooseRole } from '../roles/choose.ts';
import type { configActions } from './commands.ts';
import { requireFiles } from '../config/files.ts';
import { sourceConfig, tokenNotes } from '../config/load.ts';

/** What `config` is asked for. */
export interface ConfigCall {
  readonly action: keyof typeof configActions;
  readonly words: readonly string[];
  readonly environment: Environment;
  readonly format: string;
}

/**
 * Shows, validates or describes the configuration; nothing is touched.
 * @throws AgentError `cli.*`, `config.*`, `role.*`
 */
export async function runConfig(call: ConfigCall): Promise<number> {
  if (call.action === 'schema') {
    process.stdout.write(`${JSON.stringify(configJsonSchema(), null, 2)}\n`);
    return 0;
  }
  const sourced = await sourceConfig(call.words, call.environment);
  const notes = [...sourced.notes, ...(call.action === 'validate' ? tokenNotes(sourced) : [])];
  process.stderr.write(notes.map((note) => `note: ${note}\n`).join(''));
  if (call.action === 'validate') {
    requireComplete(sourced.given);
    await requireFiles(sourced);
    chooseRole(sourced.config);
    process.stdout.write('the configuration is complete\n');
    return 0;
  }
  process.stdout.write(
    call.format === 'json' ? renderConfigJson(sourced) : renderConfigText(sourced),
  );
  return 0;
}
