import { AgentError } from '../model/failure.ts';
import { derive, incomplete, missingSettings, requireCompatible } from './complete.ts';
import type { Environment } from './environment.ts';
import { readable, type Refuse } from './failures.ts';
import { readConfigFiles, readContainer, readSecretFiles, requireFiles } from './files.ts';
import { readFlags } from './flags.ts';
import { type CheckedConfig, checkConfig, parseSettings } from './load.ts';
import { type Layer, mergeLayers, type SettingKey } from './settings.ts';
import { layersOver } from './sources.ts';
import { fileLayer } from './yaml-file.ts';

/** Everything that is wrong with what a command line, its environment and its files say. */
export interface ConfigFindings {
  readonly mistakes: readonly AgentError[];
  /** What can be read, without the settings that are refused. */
  readonly loaded: CheckedConfig;
  /** Flags without effect, unexpected arguments. */
  readonly notes: readonly string[];
}

/** Reads a configuration to its end whatever is wrong with it; throws for no mistake in it. */
export async function findInConfig(
  argv: readonly string[],
  environment: Environment,
): Promise<ConfigFindings> {
  const mistakes: AgentError[] = [];
  const refuse: Refuse = (mistake) => mistakes.push(mistake);
  const flags = readFlags(argv, refuse);
  const files = await fileLayers(flags.configFiles, refuse);
  // Everything else may follow from the text that could not be read.
  const malformed = mistakes.filter(({ code }) => code === 'config.malformed-file');
  if (malformed.length > 0)
    return { mistakes: malformed, loaded: checkConfig([]), notes: flags.notes };
  const layers = layersOver(files, { flags, environment }, refuse);
  const secrets = (await awaited(refuse, () => readSecretFiles(layers))) ?? new Map();
  const merged = mergeLayers([await readContainer(), ...layers, secrets]);
  const invalid = parseSettings(derive(merged)).mistakes;
  mistakes.push(...invalid.values());
  const loaded = checkConfig([without(merged, [...invalid.keys()])]);
  const refused = new Set(mistakes.map(({ context }) => context['setting']));
  mistakes.push(...(await missingIn(loaded, refused)));
  return { mistakes, loaded, notes: flags.notes };
}

/**
 * Everything that a configuration which can be read lacks for an install.
 * @param refused settings that were given, with a mistake
 */
export async function missingIn(
  loaded: CheckedConfig,
  refused: ReadonlySet<unknown> = new Set(),
): Promise<readonly AgentError[]> {
  const mistakes: AgentError[] = [];
  const refuse: Refuse = (mistake) => mistakes.push(mistake);
  readable(refuse, () => {
    requireCompatible(loaded.given);
  });
  const missing = missingSettings(loaded.given).filter(({ key }) => !refused.has(key));
  mistakes.push(...missing.map((one) => incomplete([one])));
  await awaited(refuse, () => requireFiles(loaded));
  return mistakes;
}

async function fileLayers(named: readonly string[], refuse: Refuse): Promise<readonly Layer[]> {
  const layers: Layer[] = [];
  for (const paths of [[], ...named.map((path) => [path])]) {
    const files = (await awaited(refuse, () => readConfigFiles(paths))) ?? [];
    // The default file comes with each.
    const own = paths.length === 0 ? files : files.slice(-1);
    layers.push(...own.map((file) => fileLayer(file, refuse)));
  }
  return layers;
}

async function awaited<T>(refuse: Refuse, read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (thrown) {
    if (!(thrown instanceof AgentError)) throw thrown;
    refuse(thrown);
    return undefined;
  }
}

const without = (layer: Layer, keys: readonly SettingKey[]): Layer =>
  new Map([...layer].filter(([key]) => !keys.includes(key)));
