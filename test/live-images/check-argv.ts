import { type Generation, isAtLeast, versionsOf } from './generations.ts';
import { type KnownProgram, knownPrograms } from './options.ts';

/** What of an argv the programs of a generation do not know, or nobody has looked up. */
export function unknownTo(argv: readonly string[], generation: Generation): readonly string[] {
  const { name, program, words } = programOf(argv);
  if (program === undefined) return [`${name} is not among the known programs`];
  const version = program.from === undefined ? undefined : versionsOf(generation)[program.from];
  return partsOf(program, words).flatMap(({ part, since }) => {
    if (since === undefined) return [`${name}: nobody has looked up ${part}`];
    if (program.from === undefined) return [];
    if (version !== undefined && isAtLeast(version, since)) return [];
    return [`${name} ${part} needs ${program.from} ${since}, it has ${version ?? 'none'}`];
  });
}

function programOf(argv: readonly string[]) {
  const [program = '', ...rest] = argv;
  const whole = knownPrograms[program];
  if (whole !== undefined) return { name: program, program: whole, words: rest };
  // Options before the subcommand take a value each: podman's store.
  let at = 0;
  while (rest[at]?.startsWith('-') === true && rest.length > 1) at += 2;
  const name = `${program} ${rest[at] ?? ''}`;
  return { name, program: knownPrograms[name], words: rest.toSpliced(at, 1) };
}

/** An option or a value that has to be known, and since when it is. */
interface Part {
  readonly part: string;
  readonly since: string | undefined;
}

function partsOf(program: KnownProgram, words: readonly string[]): readonly Part[] {
  const parts: Part[] = [];
  for (let at = 0; at < words.length; at += 1) {
    const { name, joined, isOption } = wordOf(words[at] ?? '');
    if (!isOption && program.endsAtOperand === true) return parts;
    if (isOption) parts.push({ part: name, since: program.options[name] });
    const isFollowed = isOption && joined === undefined && takesValue(program, name);
    parts.push(...valuesOf(program, name, isFollowed ? words[(at += 1)] : joined));
  }
  return parts;
}

function wordOf(word: string) {
  const [, name = word, joined] = /^([^=]+)=(.*)$/s.exec(word) ?? [];
  return { name, joined, isOption: /^--?[^-]/.test(word) };
}

const takesValue = ({ withValue = [] }: KnownProgram, name: string): boolean =>
  withValue.includes(name);

function valuesOf(
  { values = {} }: KnownProgram,
  name: string,
  text: string | undefined,
): readonly Part[] {
  const known = values[name];
  if (known === undefined || text === undefined) return [];
  return text.split(',').map((one) => ({ part: `${name} ${one}`, since: known[one] }));
}
