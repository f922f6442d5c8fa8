// Arguments for `coreos-installer install` (0.26), as far as Bootwright must understand them: those
// that name an input, that keep partitions, or that Bootwright gives itself. Everything else is
// judged by coreos-installer.
import { shownText } from '../lib/shown-url.ts';

/** Long options that take a value, with their short names. */
const valueOptions: ReadonlyMap<string, string> = new Map([
  ['config-file', 'c'],
  ['stream', 's'],
  ['image-url', 'u'],
  ['image-file', 'f'],
  ['ignition-file', 'i'],
  ['ignition', ''],
  ['ignition-url', 'I'],
  ['ignition-hash', ''],
  ['architecture', 'a'],
  ['platform', 'p'],
  ['console', ''],
  ['firstboot-args', ''],
  ['append-karg', ''],
  ['delete-karg', ''],
  ['network-dir', ''],
  ['save-partlabel', ''],
  ['save-partindex', ''],
  ['stream-base-url', ''],
  ['fetch-retries', ''],
]);

/** Long options without a value, with their short names. */
const flags: ReadonlyMap<string, string> = new Map([
  ['copy-network', 'n'],
  ['offline', ''],
  ['insecure', ''],
  ['insecure-ignition', ''],
  ['preserve-on-error', ''],
  ['secure-ipl', ''],
]);

const longNames: ReadonlyMap<string, string> = new Map(
  [...valueOptions, ...flags]
    .filter(([, short]) => short !== '')
    .map(([long, short]) => [short, long]),
);

/** One use of an option, by its long name. */
export interface WriterUse {
  readonly option: string;
  /** Empty for an option that takes none. */
  readonly value: string;
}

/** What is wrong with arguments, and what to write instead. */
interface Mistake {
  readonly what: string;
  readonly write: string;
}

/** Arguments for `coreos-installer install` as they were read. */
interface WriterArgsRead {
  /** The first argument that must not be given. */
  readonly mistake?: Mistake;
  /** The options that are known, in their order. */
  readonly uses: readonly WriterUse[];
}

/**
 * Reads arguments for `coreos-installer install`. An option that is not in the tables may be newer
 * than they are: it passes, and a word behind it that is no option counts as its value.
 */
export function readWriterArgs(args: readonly string[]): WriterArgsRead {
  const uses: WriterUse[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? '';
    const read = readWord(word);
    if ('what' in read) return { mistake: read, uses };
    const { options, value, wantsValue } = read;
    const last = options.at(-1);
    const next = args[at + 1];
    // A range of partitions may begin with a hyphen, "-7".
    const hasNext = next !== undefined && (!/^-./.test(next) || last === 'save-partindex');
    if (wantsValue && last !== undefined && !hasNext) {
      const what = `option ${word}: the value is missing`;
      return { mistake: { what, write: `"${word}","VALUE"` }, uses };
    }
    const given = options.map((option) => ({
      option,
      value: option === last && valueOptions.has(option) ? (value ?? next ?? '') : '',
    }));
    for (const use of given) {
      const mistake = clashOf(use, uses) ?? valueMistake(use);
      if (mistake !== undefined) return { mistake, uses };
      uses.push(use);
    }
    if (wantsValue && hasNext) at += 1;
  }
  return { uses };
}

interface Word {
  /** The options in one word that are known. */
  readonly options: readonly string[];
  /** The value in the same word. */
  readonly value?: string | undefined;
  /** The next word is its value; of an unknown option, if it is no option. */
  readonly wantsValue: boolean;
}

function readWord(word: string): Word | Mistake {
  if (word.length < 2 || !word.startsWith('-')) {
    return {
      what: `${JSON.stringify(shownText(word))} is neither an option nor the value of one`,
      write: 'options of coreos-installer install only; disk.device names the disk',
    };
  }
  const [, option = '', blanks = '', rest = ''] = /^([^=\s]*)(\s*)(.*)$/s.exec(word) ?? [];
  if (blanks !== '') {
    const write = rest === '' ? `"${option}"` : `"${option}","VALUE"`;
    return { what: `${option} and its value are in one element`, write };
  }
  return word.startsWith('--') ? readLong(word) : readShort(word);
}

function readLong(word: string): Word | Mistake {
  const [, name = '', value] = /^--([^=]*)(?:=(.*))?$/s.exec(word) ?? [];
  if (valueOptions.has(name)) return { options: [name], value, wantsValue: value === undefined };
  if (!flags.has(name)) return unknownOption(`--${name}`, value === undefined);
  if (value === undefined) return { options: [name], wantsValue: false };
  return { what: `option --${name} takes no value`, write: `"--${name}"` };
}

/** Letters may be joined, `-na`; the value of one that takes a value follows it. */
function readShort(word: string): Word | Mistake {
  const options: string[] = [];
  for (let at = 1; at < word.length; at += 1) {
    const letter = word.charAt(at);
    const option = longNames.get(letter);
    const rest = word.slice(at + 1);
    if (option === undefined) return unknownOption(`-${letter}`, rest === '', options);
    options.push(option);
    if (!valueOptions.has(option)) continue;
    return {
      options,
      value: rest === '' ? undefined : rest.replace(/^=/, ''),
      wantsValue: rest === '',
    };
  }
  return { options, wantsValue: false };
}

/** Options by which it prints something and exits well without a write, and the end of options. */
const endings: ReadonlySet<string> = new Set(['--help', '-h', '--version', '-V', '--']);

function unknownOption(
  option: string,
  wantsValue: boolean,
  options: readonly string[] = [],
): Word | Mistake {
  // What keeps partitions must be understood, misspelled too: else the disk would be cleaned.
  if (!endings.has(option) && !/save|part/.test(option)) {
    // The value of an unknown option is not read.
    return { options, value: '', wantsValue };
  }
  return {
    what: `${shownText(option)} is not an option of coreos-installer install`,
    write: 'options that coreos-installer install --help lists',
  };
}

const imageOptions = ['image-url', 'image-file', 'stream'];

/** Why an option cannot be given beside those before it, and beside what Bootwright gives. */
function clashOf({ option }: WriterUse, before: readonly WriterUse[]): Mistake | undefined {
  if (option === 'ignition-url')
    return {
      what: 'option --ignition-url: it comes on top of the Ignition file',
      write: 'ignition.url',
    };
  const others = before.filter((use) => use.option !== option).map((use) => use.option);
  return imageOptions.includes(option) && imageOptions.some((other) => others.includes(other))
    ? { what: `option --${option}: another option names an image too`, write: 'one of them' }
    : undefined;
}

/** Values that coreos-installer would refuse when the disk is cleaned already. */
const valueRules: Readonly<
  Record<string, { readonly fits: (value: string) => boolean; readonly write: string }>
> = {
  console: {
    fits: (value) =>
      /^(?:tty0|hvc0|ttysclp0|tty(?:S|AMA)\d{1,2}(?:,\d{1,9}(?:[neo][5-8]?)?)?)$/.test(value),
    write: 'tty0, hvc0, ttysclp0, or a serial console, ttyS0,115200n8 for example',
  },
  'fetch-retries': {
    fits: (value) => /^(?:infinite|\d{1,9})$/.test(value),
    write: 'infinite, or a number from 0',
  },
  'stream-base-url': { fits: (value) => URL.canParse(value), write: 'https://HOST/PATH/' },
  'save-partlabel': {
    fits: (value) => value.split(',').every(isLabel),
    write: 'labels with *, ? and [a-z]: data*,logs',
  },
  'save-partindex': {
    fits: (value) => value.split(',').every(isRange),
    write: 'numbers from 1, or ranges: 5,6-8',
  },
};

/** What is wrong with the value of an option, and what to write instead. */
export function valueMistake({ option, value }: WriterUse): Mistake | undefined {
  const rule = Object.hasOwn(valueRules, option) ? valueRules[option] : undefined;
  if (rule === undefined || rule.fits(value)) return undefined;
  const what = `option --${option}: coreos-installer cannot read ${JSON.stringify(shownText(value))}`;
  return { what, write: rule.write };
}

/** Patterns of the crate `glob`. */
const isLabel = (entry: string): boolean => {
  const isOpen = entry.lastIndexOf('[') > entry.lastIndexOf(']');
  return !isOpen && !/[,\p{Cc}]|\*\*|\[!?\]/u.test(entry);
};

/** Numbers are of 32 bits. */
const isRange = (entry: string): boolean => {
  const [, from, to = from] = /^(\d{0,10})(?:-(\d{0,10}))?$/.exec(entry) ?? [];
  if (from === undefined || `${from}${to}` === '') return false;
  const [first, last] = [from === '' ? 1 : Number(from), to === '' ? 0xff_ff_ff_ff : Number(to)];
  return first >= 1 && first <= last && last <= 0xff_ff_ff_ff;
};

/**
 * The option by which coreos-installer keeps partitions: a number, a range (`5-7`, `5-`, `-7`), or
 * a label with `*`, `?` and `[a-z]`. Undefined for what it would refuse, or take for more than one.
 */
export function savingOption(entry: string): string | undefined {
  if (entry === '') return undefined;
  if (/^\d*(?:-\d*)?$/.test(entry)) return isRange(entry) ? `--save-partindex=${entry}` : undefined;
  return isLabel(entry) ? `--save-partlabel=${entry}` : undefined;
}
