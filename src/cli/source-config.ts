import type { Environment } from '../config/environment.ts';
import { fileLayer } from '../config/file.ts';
import { checkConfig, type CheckedConfig } from '../config/load.ts';
import { Secret } from '../model/secret.ts';
import { readFlags } from './compat/read-flags.ts';
import { readConfigFiles, readContainer, readSecretFiles } from './read-files.ts';
import { layersOver } from './settings.ts';

/** A configuration from every source, with what a person should know of it. */
export interface SourcedConfig extends CheckedConfig {
  readonly notes: readonly string[];
  readonly isFresh: boolean;
}

/**
 * Reads the configuration of a command from its container, files, environment and flags.
 * @throws AgentError `cli.*`, `config.*`
 */
export async function sourceConfig(
  words: readonly string[],
  environment: Environment,
): Promise<SourcedConfig> {
  const flags = readFlags(words);
  const files = await readConfigFiles(flags.configFiles);
  const withoutSecrets = layersOver(files.map(fileLayer), flags, environment);
  const secrets = await readSecretFiles(withoutSecrets);
  const checked = checkConfig([await readContainer(), ...withoutSecrets, secrets]);
  return { ...checked, notes: flags.notes, isFresh: flags.isFresh };
}

/** Says so when the service is asked without a token; the agent that is replaced warns too. */
export function tokenNotes({ config }: CheckedConfig): readonly string[] {
  const { url, token } = config.service;
  if (url === '' || (token instanceof Secret && !token.isEmpty)) return [];
  return ['PULL_SECRET_TOKEN is not set; the service is asked without a token'];
}
