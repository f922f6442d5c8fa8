import { nearestName } from '../lib/nearest.ts';
import { shownText } from '../lib/shown-url.ts';
import type { AgentError } from '../model/failure.ts';
import { configFailure, flagFailure, raise, type Refuse, whatToWrite } from './failures.ts';
import { type FlagMeaning, flagRows, ownFlagRows } from './flag-table.ts';
import { flagName, type FlagUse, scanFlags } from './go-flags.ts';
import { addOldServiceSettings } from './old-contract.ts';
import { goBoolean, readValue } from './read-value.ts';
import {
  type SettingValue,
  insteadOf,
  isSecret,
  type Layer,
  secretFiles,
  type SettingKey,
  settingKeys,
  settingKinds,
} from './settings.ts';

/** The result of reading a command line. */
export interface FlagValues {
  /** The settings of the flags. */
  readonly layer: Layer;
  /** Notes for the user: flags without effect, unexpected arguments. */
  readonly notes: readonly string[];
  /** Values of `--config`, in order. */
  readonly configFiles: readonly string[];
  readonly isFresh: boolean;
  readonly asksVersion: boolean;
}

/** A known flag; without a meaning if it controls the command itself. */
interface KnownFlag {
  readonly isBoolean: boolean;
  readonly meaning?: FlagMeaning;
}

const knownFlags: ReadonlyMap<string, KnownFlag> = new Map<string, KnownFlag>([
  ...Object.entries(ownFlagRows),
  ...Object.entries(flagRows),
  ...settingKeys.map((key) => {
    const { kind } = settingKinds[key];
    const meaning = kind === 'list' ? { addsTo: key } : { sets: key };
    return [key, { isBoolean: kind === 'flag', meaning }] as const;
  }),
]);

/**
 * Reads the flags of an install: the flags of the replaced installers, and a flag for every setting
 * except secrets, for example `--image.url`.
 * @param refuse takes each mistake; throws the first unless given
 * @throws AgentError `cli.*`, `config.invalid-value`, `config.inline-secret`
 */
export function readFlags(argv: readonly string[], refuse: Refuse = raise): FlagValues {
  const lookup = (name: string): KnownFlag | undefined => knownFlags.get(name);
  const { uses, rest } = scanFlags(argv, { lookup, unknown: unknownFlag, refuse });
  const layer = new Map<SettingKey, SettingValue>();
  const notes: string[] = [];
  for (const { name, text = 'true' } of uses) {
    const meaning = lookup(name)?.meaning;
    const origin = `flag ${flagName(name)}`;
    if (meaning === undefined || 'reads' in meaning) continue;
    if ('ignored' in meaning) {
      notes.push(`${origin} has no effect: ${meaning.ignored}`);
    } else if ('refused' in meaning) {
      if (goBoolean(text) !== false) refuse(meaning.refused(origin, 'leave it out'));
    } else if ('sets' in meaning && isSecret(meaning.sets)) {
      refuse(secretFlag(meaning.sets, origin));
    } else {
      const [key, value] = valueOf(meaning, text, layer);
      layer.set(key, { value, origin });
    }
  }
  addOldServiceSettings(uses, layer, notes, refuse);
  if (rest.length > 0) takeRest(rest, notes, refuse);
  const isSet = (name: string): boolean => isOwnSet(uses, name, refuse);
  // The caller has handled a true help flag; refuse a value that is neither true nor false.
  for (const name of ['help', 'h']) isSet(name);
  return {
    layer,
    notes,
    configFiles: uses.flatMap(({ name, text = '' }) => (name === 'config' ? [text] : [])),
    isFresh: isSet('fresh'),
    asksVersion: ['version', 'v', 'V'].filter(isSet).length > 0,
  };
}

/**
 * Notes the arguments behind the last flag. Flags among them would not be read, and one may be what
 * keeps the data of the disk.
 */
function takeRest(rest: readonly string[], notes: string[], refuse: Refuse): void {
  const [first = ''] = rest;
  if (!rest.some((word) => word.startsWith('-')))
    notes.push(`unexpected argument${rest.length > 1 ? 's' : ''}: ${rest.join(' ')}`);
  else
    refuse(
      flagFailure('cli.bad-flag', `unexpected argument: ${shownText(first)}`, {
        hint: 'flags behind it are not read; true or false is written behind "=", --insecure=true',
      }),
    );
}

function valueOf(
  meaning: Exclude<FlagMeaning, { reads: unknown } | { ignored: unknown } | { refused: unknown }>,
  text: string,
  layer: Layer,
): readonly [SettingKey, unknown] {
  if ('sets' in meaning) return [meaning.sets, readValue(meaning.sets, text)];
  if ('negates' in meaning) {
    const value = goBoolean(text);
    return [meaning.negates, value === undefined ? text : !value];
  }
  const before = (layer.get(meaning.addsTo)?.value ?? []) as readonly string[];
  return [meaning.addsTo, [...before, text]];
}

function isOwnSet(uses: readonly FlagUse[], name: string, refuse: Refuse): boolean {
  const last = uses.findLast((use) => use.name === name);
  if (last === undefined) return false;
  const value = goBoolean(last.text ?? 'true');
  if (value === undefined)
    refuse(
      flagFailure('cli.bad-flag', `flag ${flagName(name)}: the value is neither true nor false`),
    );
  return value === true;
}

/** Splits a command line despite mistakes in it; an unknown flag takes no value. */
const scanAnyway = (argv: readonly string[]) =>
  scanFlags(argv, {
    lookup: (name) => knownFlags.get(name) ?? { isBoolean: true },
    unknown: unknownFlag,
    refuse: () => undefined,
  });

/**
 * The words of a command line that are neither flags nor their values. As in assisted-installer, an
 * install reads nothing from the first such word on.
 */
export const positionalArguments = (argv: readonly string[]): readonly string[] =>
  scanAnyway(argv).rest;

/**
 * Whether a command line asks for help, despite mistakes in it: `-h`, `--help`, and either with a
 * true value after `=`. A word that is the value of another flag does not count.
 */
export const asksHelp = (argv: readonly string[]): boolean =>
  scanAnyway(argv).uses.some(
    ({ name, text = 'true' }) => /^h(?:elp)?$/.test(name) && goBoolean(text) === true,
  );

function unknownFlag(name: string): AgentError {
  const instead = insteadOf(name === 'metrics' ? 'log.metrics' : name);
  const known = [...knownFlags.keys()].filter((flag) => !Object.hasOwn(secretFiles, flag));
  const near = nearestName(name, known);
  return flagFailure(
    'cli.unknown-flag',
    `flag ${flagName(name)} ${instead === undefined ? 'does not exist' : 'was removed'}`,
    { hint: whatToWrite(instead, near && flagName(near)), context: { flag: name } },
  );
}

function secretFlag(key: keyof typeof secretFiles, origin: string): AgentError {
  return configFailure(
    'config.inline-secret',
    `${origin}: a secret is not accepted on the command line, where every process can read it`,
    {
      hint: `set it in the environment, or name its file with --${secretFiles[key]}`,
      context: { setting: key },
    },
  );
}
