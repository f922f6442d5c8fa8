// Arguments for `coreos-installer install` (0.26), as far as Bootwright must understand them:
// options that name an input, that keep partitions, or that Bootwright gives itself.
// coreos-installer judges all others.
import { parseArgs } from 'node:util';
import { shownText } from '../lib/shown-url.ts';

/** Long options that take a value, with their short names. */
const valueOptions: Readonly<Record<string, string>> = {
  'config-file': 'c',
  stream: 's',
  'image-url': 'u',
  'image-file': 'f',
  'ignition-file': 'i',
  ignition: '',
  'ignition-url': 'I',
  'ignition-hash': '',
  architecture: 'a',
  platform: 'p',
  console: '',
  'firstboot-args': '',
  'append-karg': '',
  'delete-karg': '',
  'network-dir': '',
  'save-partlabel': '',
  'save-partindex': '',
  'stream-base-url': '',
  'fetch-retries': '',
};

/** Long options without a value, with their short names. */
const flags: Readonly<Record<string, string>> = {
  'copy-network': 'n',
  offline: '',
  insecure: '',
  'insecure-ignition': '',
  'preserve-on-error': '',
  'secure-ipl': '',
};

const typed = (names: typeof flags, type: 'string' | 'boolean') =>
  Object.entries(names).map(
    ([name, short]) => [name, short === '' ? { type } : { type, short }] as const,
  );

const options = Object.fromEntries([...typed(valueOptions, 'string'), ...typed(flags, 'boolean')]);

/** One use of an option, by its long name. */
export interface WriterUse {
  readonly option: string;
  /** Empty for an option that takes none. */
  readonly value: string;
}

/** An error in arguments, and its correction. */
interface Mistake {
  readonly what: string;
  readonly write: string;
}

/** The result of reading arguments for `coreos-installer install`. */
interface WriterArgs {
  /** The first argument that is not allowed. */
  readonly mistake?: Mistake;
  /** The known options, in their order. */
  readonly uses: readonly WriterUse[];
  /** Whether an option may be a newer one, or misspelt. */
  readonly hasUnknown?: boolean;
}

/**
 * Parses arguments for `coreos-installer install`. An option outside of the tables may be newer
 * than they are: it is accepted, and the next word counts as its value unless it is an option.
 */
export function readWriterArgs(args: readonly string[]): WriterArgs {
  const uses: WriterUse[] = [];
  // A line break divides the line of kernel arguments, or the script of GRUB, on the written disk.
  const broken = args.find((word) => /[^\P{Cc}\t]/u.test(word));
  if (broken !== undefined) {
    const what = `${JSON.stringify(shownText(broken))} has a line break or another control character`;
    return { mistake: { what, write: 'each argument in one line' }, uses };
  }
  let unknownAt = Number.NaN;
  for (const token of tokensOf(args)) {
    const { index, kind } = token;
    // The further letters of its word, and the next word, are the value of an unknown option.
    if (index === unknownAt || (kind === 'positional' && index === unknownAt + 1)) continue;
    const read = readToken(token, args[index] ?? '');
    if (read === undefined) {
      unknownAt = index;
      continue;
    }
    if ('what' in read) return { mistake: read, uses };
    const mistake = clashOf(read, uses) ?? valueMistake(read);
    if (mistake !== undefined) return { mistake, uses };
    uses.push(read);
  }
  return { uses, hasUnknown: !Number.isNaN(unknownAt) };
}

const tokensOf = (args: readonly string[]) =>
  parseArgs({ args: [...args], options, strict: false, tokens: true }).tokens;

type OptionToken = Extract<ReturnType<typeof tokensOf>[number], { kind: 'option' }>;

/** Options that print something and exit with 0 without a write, and the end of options. */
const endings: ReadonlySet<string> = new Set(['--help', '-h', '--version', '-V', '--']);

/** The option of a token, or its error; undefined for an option outside of the tables. */
function readToken(
  token: ReturnType<typeof tokensOf>[number],
  word: string,
): WriterUse | Mistake | undefined {
  if (token.kind === 'positional') {
    const what = `${JSON.stringify(shownText(word))} is neither an option nor the value of one`;
    const write = 'options of coreos-installer install only; disk.device names the disk';
    return { what, write };
  }
  const [, head = '', blanks = '', rest = ''] = /^([^=\s]*)(\s*)(.*)$/s.exec(word) ?? [];
  if (blanks !== '') {
    const write = rest === '' ? `"${head}"` : `"${head}","VALUE"`;
    return { what: `${head} and its value are in one element`, write };
  }
  if (token.kind === 'option' && Object.hasOwn(options, token.name)) return readOption(token, word);
  const shown = token.kind === 'option' ? token.rawName : word;
  // An option that keeps partitions must be understood, even if misspelled: otherwise the cleaning
  // would destroy them.
  if (!endings.has(shown) && !/save|part/.test(shown)) return undefined;
  const what = `${shownText(shown)} is not an option of coreos-installer install`;
  return { what, write: 'options that coreos-installer install --help lists' };
}

function readOption(
  { name: option, value, inlineValue }: OptionToken,
  word: string,
): WriterUse | Mistake {
  if (Object.hasOwn(flags, option)) {
    if (value === undefined) return { option, value: '' };
    return { what: `option --${option} takes no value`, write: `"--${option}"` };
  }
  // A range of partitions may begin with a hyphen, "-7".
  const isOption = inlineValue === false && /^-./.test(value) && option !== 'save-partindex';
  if (value === undefined || isOption)
    return { what: `option ${word}: the value is missing`, write: `"${word}","VALUE"` };
  const isShort = inlineValue && !word.startsWith('--');
  return { option, value: isShort ? value.replace(/^=/, '') : value };
}

const imageOptions = ['image-url', 'image-file', 'stream'];

/** The reason why an option conflicts with earlier ones, or with those that Bootwright gives. */
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

/** Checks of values that coreos-installer would refuse only after the disk is cleaned. */
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

/** The error in the value of an option, and its correction. */
export function valueMistake({ option, value }: WriterUse): Mistake | undefined {
  const rule = Object.hasOwn(valueRules, option) ? valueRules[option] : undefined;
  if (rule === undefined || rule.fits(value)) return undefined;
  const what = `option --${option}: coreos-installer cannot read ${JSON.stringify(shownText(value))}`;
  return { what, write: rule.write };
}

/** A valid pattern of the crate `glob`. */
const isLabel = (entry: string): boolean => {
  const isOpen = entry.lastIndexOf('[') > entry.lastIndexOf(']');
  return !isOpen && !/[,\p{Cc}]|\*\*|\[!?\]/u.test(entry);
};

/** A range of 32-bit numbers. */
const isRange = (entry: string): boolean => {
  const [, from, to = from] = /^(\d{0,10})(?:-(\d{0,10}))?$/.exec(entry) ?? [];
  if (from === undefined || `${from}${to}` === '') return false;
  const [first, last] = [from === '' ? 1 : Number(from), to === '' ? 0xff_ff_ff_ff : Number(to)];
  return first >= 1 && first <= last && last <= 0xff_ff_ff_ff;
};

/**
 * The option of coreos-installer that keeps partitions: a number, a range (`5-7`, `5-`, `-7`), or a
 * label with `*`, `?` and `[a-z]`. Undefined for an entry that coreos-installer would refuse, or
 * read as several entries.
 */
export function savingOption(entry: string): string | undefined {
  if (entry === '') return undefined;
  if (/^\d*(?:-\d*)?$/.test(entry)) return isRange(entry) ? `--save-partindex=${entry}` : undefined;
  return isLabel(entry) ? `--save-partlabel=${entry}` : undefined;
}
