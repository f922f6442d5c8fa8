import { type Environment, environmentLayer, knownVariablesLayer } from './environment.ts';
import { raise, type Refuse } from './failures.ts';
import { type FlagsRead, readFlags } from './flags.ts';
import { storeContractLayer } from './old-contract.ts';
import { type Layer, mergeLayers } from './settings.ts';

/** Read when it is there, before every `--config`. */
export const defaultConfigFile = '/etc/bootwright/config.yaml';

/** What a command line and its environment say; files come below it. */
export interface CommandSettings {
  readonly flags: FlagsRead;
  readonly environment: Environment;
  /** From the weakest to the strongest source. */
  readonly layers: readonly Layer[];
}

/**
 * Reads flags and variables. Flags win over BOOTWRIGHT_* variables, those over the variables of
 * other programs.
 * @throws AgentError `cli.*`, `config.*` for the first mistake
 */
export function readSettings(argv: readonly string[], environment: Environment): CommandSettings {
  const flags = readFlags(argv);
  return { flags, environment, layers: layersOver([], { flags, environment }) };
}

/**
 * The layers of files with those of variables and flags over them.
 * @param refuse takes each mistake; throws the first unless given
 * @throws AgentError `config.*` for the first mistake
 */
export function layersOver(
  files: readonly Layer[],
  { flags, environment }: Pick<CommandSettings, 'flags' | 'environment'>,
  refuse: Refuse = raise,
): readonly Layer[] {
  const own = environmentLayer(environment, refuse);
  const others = mergeLayers([...files, own, flags.layer]);
  return [
    ...files,
    knownVariablesLayer(environment, refuse),
    storeContractLayer(environment, others),
    own,
    flags.layer,
  ];
}
