import { type Generation, isAtLeast, versionsOf } from './generations.ts';
import { knownOptions, knownValues, newerOptions } from './options.ts';

/**
 * The parts of an argv that the programs of a generation do not know, or that are not in the table.
 */
export function unknownTo(argv: readonly string[], generation: Generation): readonly string[] {
  const { name, words } = programOf(argv);
  const options = knownOptions[name]?.split(' ');
  if (options === undefined) return [`${name} is not among the known programs`];
  return partsOf(name, options, words).flatMap(({ part, isKnown }) => {
    if (!isKnown) return [`${name}: nobody has looked up ${part}`];
    const [from, since] = newerOptions[`${name} ${part}`] ?? [];
    if (from === undefined || since === undefined) return [];
    const version = versionsOf(generation)[from] ?? '';
    if (isAtLeast(version, since)) return [];
    return [`${name} ${part} needs ${from} ${since}, it has ${version || 'none'}`];
  });
}

/** The options, and the values that must be known too. */
function partsOf(name: string, options: readonly string[], words: readonly string[]) {
  const parts: { part: string; isKnown: boolean }[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const word = words[at] ?? '';
    const [, option = word, joined] = /^([^=]+)=(.*)$/s.exec(word) ?? [];
    const isOption = /^--?[^-]/.test(word);
    if (!isOption && options.includes('…')) break;
    const takesValue = isOption && options.includes(`${option}=`);
    if (isOption) parts.push({ part: option, isKnown: takesValue || options.includes(option) });
    const value = takesValue && joined === undefined ? words[(at += 1)] : joined;
    if (value !== undefined) parts.push(...valuesOf(name, option, value));
  }
  return parts;
}

function valuesOf(name: string, option: string, value: string) {
  const values = knownValues[`${name} ${option}`]?.split(' ') ?? [];
  const given = values.length === 0 ? [] : value.split(',');
  return given.map((one) => ({ part: `${option} ${one}`, isKnown: values.includes(one) }));
}

function programOf(argv: readonly string[]) {
  const [program = '', ...rest] = argv;
  if (knownOptions[program] !== undefined) return { name: program, words: rest };
  // Each option before the subcommand takes a value: podman's store.
  let at = 0;
  while (rest[at]?.startsWith('-') === true && rest.length > 1) at += 2;
  return { name: `${program} ${rest[at] ?? ''}`, words: rest.toSpliced(at, 1) };
}
