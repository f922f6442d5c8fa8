import { nearestName } from '../lib/nearest.ts';
import type { AgentError } from '../model/failure.ts';
import { configFailure, flagFailure, raise, readable, type Refuse } from './failures.ts';
import { type FlagMeaning, flagRows, ownFlagRows } from './flag-table.ts';
import { flagName, type FlagUse, scanFlags } from './go-flags.ts';
import { oldServiceSettings } from './old-contract.ts';
import { goBoolean, readValue } from './read-value.ts';
import {
  type Given,
  insteadOf,
  isSettingKey,
  type Layer,
  secretFiles,
  type SettingKey,
  settingKeys,
  settingKinds,
} from './settings.ts';

/** A command line, read. */
export interface FlagsRead {
  /** What the flags set. */
  readonly layer: Layer;
  /** What a person should know: flags without effect, unexpected arguments. */
  readonly notes: readonly string[];
  /** `--config`, in order. */
  readonly configFiles: readonly string[];
  readonly isFresh: boolean;
  readonly asksVersion: boolean;
}

/**
 * Reads the flags of an install: those of the installers that are replaced, and one for every
 * setting, `--image.url` for example, except those that hold a secret.
 * @param refuse takes each mistake; throws the first unless given
 * @throws AgentError `cli.*`, `config.invalid-value`, `config.inline-secret`
 */
export function readFlags(argv: readonly string[], refuse: Refuse = raise): FlagsRead {
  const { uses, rest } = scanFlags(argv, { lookup: lookUpFlag, unknown: unknownFlag, refuse });
  const layer = new Map<SettingKey, Given>();
  const notes: string[] = [];
  for (const use of uses) {
    const meaning = meaningOf(use.name);
    if (meaning === undefined) continue;
    if ('ignored' in meaning) {
      notes.push(`flag ${flagName(use.name)} has no effect: ${meaning.ignored}`);
    } else if ('refused' in meaning) {
      if (goBoolean(use.text ?? 'true') === false) continue;
      refuse(meaning.refused(`flag ${flagName(use.name)}`, 'leave it out'));
    } else if (!('reads' in meaning)) {
      readable(refuse, () => {
        set(layer, use, meaning);
      });
    }
  }
  const old = readable(refuse, () => oldServiceSettings(uses, layer, notes)) ?? [];
  for (const [key, given] of old) layer.set(key, given);
  if (rest.length > 0) {
    notes.push(`unexpected argument${rest.length > 1 ? 's' : ''}: ${rest.join(' ')}`);
  }
  return { layer, notes, ...ownFlags(uses, refuse) };
}

/**
 * The words of a command line that are neither flags nor their values. As with assisted-installer,
 * an install reads nothing from the first of them on.
 */
export const wordsBehindFlags = (argv: readonly string[]): readonly string[] =>
  scanFlags(argv, {
    lookup: (name) => lookUpFlag(name) ?? { isBoolean: true },
    unknown: unknownFlag,
    refuse: () => undefined,
  }).rest;

/** Every flag that may be written. */
export const allFlagNames = (): readonly string[] => [
  ...new Set([
    ...Object.keys(ownFlagRows),
    ...Object.keys(flagRows),
    ...settingKeys.filter((key) => settingKinds[key].kind !== 'secret'),
  ]),
];

/** What is known of a flag, undefined for one that does not exist. */
export function lookUpFlag(name: string): { readonly isBoolean: boolean } | undefined {
  if (Object.hasOwn(ownFlagRows, name)) return ownFlagRows[name];
  if (Object.hasOwn(flagRows, name)) return flagRows[name];
  return isSettingKey(name) ? { isBoolean: settingKinds[name].kind === 'flag' } : undefined;
}

function meaningOf(name: string): FlagMeaning | undefined {
  if (Object.hasOwn(flagRows, name)) return flagRows[name]?.meaning;
  if (!isSettingKey(name)) return undefined;
  return settingKinds[name].kind === 'list' ? { addsTo: name } : { sets: name };
}

type SettingMeaning = Exclude<
  FlagMeaning,
  { reads: unknown } | { ignored: unknown } | { refused: unknown }
>;

function set(layer: Map<SettingKey, Given>, use: FlagUse, meaning: SettingMeaning): void {
  const origin = `flag ${flagName(use.name)}`;
  const text = use.text ?? 'true';
  if ('addsTo' in meaning) {
    const before = layer.get(meaning.addsTo)?.value as readonly string[] | undefined;
    layer.set(meaning.addsTo, { value: [...(before ?? []), text], origin });
    return;
  }
  if ('negates' in meaning) {
    const value = goBoolean(text);
    layer.set(meaning.negates, { value: value === undefined ? text : !value, origin });
    return;
  }
  const key = meaning.sets;
  if (settingKinds[key].kind === 'secret') throw secretFlag(key, origin);
  layer.set(key, { value: readValue(key, text), origin });
}

function ownFlags(
  uses: readonly FlagUse[],
  refuse: Refuse,
): Pick<FlagsRead, 'configFiles' | 'isFresh' | 'asksVersion'> {
  const isSet = (name: string): boolean => {
    const last = uses.findLast((use) => use.name === name);
    if (last === undefined) return false;
    const value = goBoolean(last.text ?? 'true');
    if (value !== undefined) return value;
    refuse(
      flagFailure('cli.bad-flag', `flag ${flagName(name)}: the value is neither true nor false`),
    );
    return false;
  };
  // A true help flag was handled before; one that is neither true nor false is refused.
  for (const name of ['help', 'h']) isSet(name);
  return {
    configFiles: uses.filter(({ name }) => name === 'config').map(({ text }) => text ?? ''),
    isFresh: isSet('fresh'),
    asksVersion: ['version', 'v', 'V'].filter(isSet).length > 0,
  };
}

function unknownFlag(name: string): AgentError {
  const instead = insteadOf(name === 'metrics' ? 'log.metrics' : name);
  if (instead !== undefined) {
    const context = { flag: name };
    const what = `flag ${flagName(name)} was removed`;
    return flagFailure('cli.unknown-flag', what, { hint: instead, context });
  }
  const near = nearestName(name, allFlagNames());
  return flagFailure('cli.unknown-flag', `flag ${flagName(name)} does not exist`, {
    ...(near === undefined ? {} : { hint: `did you mean ${flagName(near)}` }),
    context: { flag: name },
  });
}

function secretFlag(key: SettingKey, origin: string): AgentError {
  const file = (secretFiles as Partial<Record<SettingKey, SettingKey>>)[key] ?? key;
  return configFailure(
    'config.inline-secret',
    `${origin}: a secret is not accepted on the command line, where every process can read it`,
    {
      hint: `set it in the environment, or name its file with --${file}`,
      context: { setting: key },
    },
  );
}

/**
 * Whether a command line asks for help, whatever else is wrong with it: `-h`, `--help`, and either
 * with a true value behind `=`. A word that is the value of another flag asks for nothing.
 */
export function asksHelp(words: readonly string[]): boolean {
  for (let at = 0; at < words.length; at += 1) {
    const [, name, value] = /^--?([^-=][^=]*)(?:=(.*))?$/s.exec(words[at] ?? '') ?? [];
    if (name === undefined) return false;
    if (name === 'h' || name === 'help') {
      if (goBoolean(value ?? 'true') === true) return true;
    } else if (value === undefined && lookUpFlag(name)?.isBoolean === false) {
      at += 1;
    }
  }
  return false;
}
