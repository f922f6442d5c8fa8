import { nearestName } from '../lib/nearest.ts';
import { configFailure } from './failures.ts';
import { type SettingKey, settingKeys } from './keys.ts';
import type { Given, Layer } from './layer.ts';
import { readValue } from './read-value.ts';

/** Variables of a process. */
export type Environment = Readonly<Record<string, string | undefined>>;

const prefix = 'BOOTWRIGHT_';

/** The variable of a setting: `cluster.infraEnvId` is BOOTWRIGHT_CLUSTER_INFRA_ENV_ID. */
export const variableOf = (key: SettingKey): string =>
  prefix +
  key
    .replaceAll(/[A-Z]/g, (letter) => `_${letter}`)
    .replace('.', '_')
    .toUpperCase();

/** What to write in a message for a variable: `environment BOOTWRIGHT_ROLE`. */
export const variableOrigin = (name: string): string => `environment ${name}`;

/**
 * The settings that BOOTWRIGHT_* variables give; an empty variable counts as not set.
 * @throws AgentError `config.unknown-variable`, `config.invalid-value`
 */
export function environmentLayer(environment: Environment): Layer {
  const keys = new Map(settingKeys.map((key) => [variableOf(key), key]));
  const layer = new Map<SettingKey, Given>();
  for (const [name, text] of Object.entries(environment)) {
    if (!name.startsWith(prefix) || text === undefined || text === '') continue;
    const key = keys.get(name);
    if (key === undefined) throw unknownVariable(name, keys.keys());
    const origin = variableOrigin(name);
    layer.set(key, { value: readValue(key, text, origin), origin });
  }
  return layer;
}

function unknownVariable(name: string, known: Iterable<string>): Error {
  const near = nearestName(name, known);
  return configFailure('config.unknown-variable', `environment ${name}: names no setting`, {
    ...(near === undefined ? {} : { hint: `did you mean ${near}` }),
    context: { variable: name },
  });
}
