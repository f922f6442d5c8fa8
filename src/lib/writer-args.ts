import { nearestName } from './nearest.ts';
import { shownText } from './shown-url.ts';

interface WriterOption {
  readonly takesValue: boolean;
  readonly short?: string;
}

const flag = (short?: string): WriterOption => ({
  takesValue: false,
  ...(short === undefined ? {} : { short }),
});
const value = (short?: string): WriterOption => ({ ...flag(short), takesValue: true });

/** The options of `coreos-installer install` (coreos-installer 0.26), but for help. */
const options: Readonly<Record<string, WriterOption>> = {
  'config-file': value('c'),
  stream: value('s'),
  'image-url': value('u'),
  'image-file': value('f'),
  'ignition-file': value('i'),
  ignition: value(),
  'ignition-url': value('I'),
  'ignition-hash': value(),
  architecture: value('a'),
  platform: value('p'),
  console: value(),
  'firstboot-args': value(),
  'append-karg': value(),
  'delete-karg': value(),
  'copy-network': flag('n'),
  'network-dir': value(),
  'save-partlabel': value(),
  'save-partindex': value(),
  offline: flag(),
  insecure: flag(),
  'insecure-ignition': flag(),
  'stream-base-url': value(),
  'preserve-on-error': flag(),
  'fetch-retries': value(),
  'secure-ipl': flag(),
};

const shorts: ReadonlyMap<string, WriterOption & { readonly name: string }> = new Map(
  Object.entries(options).flatMap(([name, option]) =>
    option.short === undefined ? [] : [[option.short, { ...option, name }] as const],
  ),
);

/**
 * The option by which coreos-installer keeps partitions: a number, a range (`5-7`, `5-`, `-7`), or
 * a label with `*`, `?` and `[a-z]` (crate `glob`). Undefined for what it would refuse, or take for
 * more than one.
 */
export function savingOption(entry: string): string | undefined {
  if (entry === '') return undefined;
  if (/^\d*(?:-\d*)?$/.test(entry)) return isRange(entry) ? `--save-partindex=${entry}` : undefined;
  return isLabel(entry) ? `--save-partlabel=${entry}` : undefined;
}

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

const isEach = (fits: (part: string) => boolean) => (value: string) => value.split(',').every(fits);

/**
 * What coreos-installer reads of values before it opens anything (0.26, `src/cmdline`,
 * `src/install.rs`); the disk would be lost by then.
 */
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
  'save-partlabel': { fits: isEach(isLabel), write: 'labels with *, ? and [a-z]: data*,logs' },
  'save-partindex': { fits: isEach(isRange), write: 'numbers from 1, or ranges: 5,6-8' },
};

/** What is wrong with the value of an option, and what to write instead. */
export function valueMistake({ option, value }: WriterUse): Mistake | undefined {
  const rule = Object.hasOwn(valueRules, option) ? valueRules[option] : undefined;
  if (rule === undefined || rule.fits(value)) return undefined;
  const what = `option --${option}: coreos-installer cannot read ${JSON.stringify(shownText(value))}`;
  return { what, write: rule.write };
}

/** What is wrong with arguments, and what to write instead. */
interface Mistake {
  readonly what: string;
  readonly write: string;
}

/** One use of an option, by its long name. */
export interface WriterUse {
  readonly option: string;
  /** Empty for an option that takes none. */
  readonly value: string;
}

/** What further arguments for `coreos-installer install` are to us. */
interface WriterArgsRead {
  /** The first thing that it would not take. */
  readonly mistake?: Mistake;
  /** The options that are known, in their order. */
  readonly uses: readonly WriterUse[];
}

/** Reads arguments for `coreos-installer install`. */
export function readWriterArgs(args: readonly string[]): WriterArgsRead {
  const uses: WriterUse[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? '';
    const read = word.startsWith('--') ? readLong(word) : readShort(word);
    if ('what' in read) return { mistake: read, uses };
    const next = isMissingAfter(word, args[at + 1]) ? undefined : args[at + 1];
    const whole = wholeUses(read, { word, next, uses });
    if ('what' in whole) return { mistake: whole, uses };
    uses.push(...whole);
    if (read.wantsValue && next !== undefined) at += 1;
  }
  return { uses };
}

interface Before {
  readonly word: string;
  readonly next: string | undefined;
  readonly uses: readonly WriterUse[];
}

/** The options of a word with their values, or why they cannot stand there. */
function wholeUses(read: OptionRead, { word, next, uses }: Before): readonly WriterUse[] | Mistake {
  if (read.isKnown && read.wantsValue && next === undefined) {
    return { what: `option ${word}: the value is missing`, write: `"${word}","VALUE"` };
  }
  const value = read.wantsValue ? (next ?? '') : '';
  const whole = read.uses.map((use) => ({ option: '', value, ...use }));
  const clash = whole.find((use, index) => clashes(use, [...uses, ...whole.slice(0, index)]));
  if (clash !== undefined) return clashOf(clash);
  return whole.map(valueMistake).find((mistake) => mistake !== undefined) ?? whole;
}

/** Options that shut out each other; the Ignition of the host is always among the arguments. */
const imageOptions = ['image-url', 'image-file', 'stream'];
const clashes = ({ option }: WriterUse, before: readonly WriterUse[]): boolean =>
  option === 'ignition-url' ||
  (imageOptions.includes(option) &&
    before.some((use) => use.option !== option && imageOptions.includes(use.option)));

const clashOf = ({ option }: WriterUse): Mistake =>
  option === 'ignition-url'
    ? { what: 'option --ignition-url: it comes on top of the Ignition file', write: 'ignition.url' }
    : { what: `option --${option}: another option names an image too`, write: 'one of them' };

interface OptionRead {
  readonly wantsValue: boolean;
  /** A newer coreos-installer may know it; a value that may follow it is taken for its value. */
  readonly isKnown: boolean;
  /** Without the value that follows as a word of its own. */
  readonly uses: readonly Partial<WriterUse>[];
}
type WordRead = OptionRead | Mistake;

/** An option with its value in one element: coreos-installer would know no such option. */
function joined(word: string): Mistake | undefined {
  const [, option = '', value = ''] = /^([^=\s]*)\s+(.*)$/s.exec(word) ?? [];
  if (option === '') return undefined;
  const write = value === '' ? `"${option}"` : `"${option}","VALUE"`;
  return { what: `${option} and its value are in one element`, write };
}

function readLong(word: string): WordRead {
  const mistake = joined(word);
  if (mistake !== undefined) return mistake;
  const [, name = '', behind] = /^--([^=]*)(=.*)?$/s.exec(word) ?? [];
  const option = Object.hasOwn(options, name) ? options[name] : undefined;
  if (option === undefined) return unknownOption(`--${name}`, behind === undefined);
  if (option.takesValue) {
    const value = behind === undefined ? {} : { value: behind.slice(1) };
    return { wantsValue: behind === undefined, isKnown: true, uses: [{ option: name, ...value }] };
  }
  if (behind === undefined)
    return { wantsValue: false, isKnown: true, uses: [{ option: name, value: '' }] };
  return { what: `option --${name} takes no value`, write: `"--${name}"` };
}

/** Letters may be joined, `-na`; the value of one that takes a value follows it. */
function readShort(word: string): WordRead {
  if (word.length < 2 || !word.startsWith('-')) {
    return {
      what: `${JSON.stringify(shownText(word))} is neither an option nor the value of one`,
      write: 'options of coreos-installer install only; disk.device names the disk',
    };
  }
  const uses: Partial<WriterUse>[] = [];
  for (let at = 1; at < word.length; at += 1) {
    const letter = word.charAt(at);
    const option = shorts.get(letter);
    const value = word.slice(at + 1).replace(/^=/, '');
    if (option === undefined) {
      return joined(word) ?? unknownOption(`-${letter}`, at === word.length - 1, uses);
    }
    if (option.takesValue) {
      if (/^\s/.test(value)) return joined(word) ?? unknownOption(word, false);
      const isLast = at === word.length - 1;
      uses.push({ option: option.name, ...(isLast ? {} : { value }) });
      return { wantsValue: isLast, isKnown: true, uses };
    }
    uses.push({ option: option.name, value: '' });
  }
  return { wantsValue: false, isKnown: true, uses };
}

/** A value must not look like an option; ranges of partitions may, "-7". */
const isMissingAfter = (option: string, next: string | undefined): boolean =>
  next === undefined || (option !== '--save-partindex' && next.startsWith('-') && next.length > 1);

/**
 * Options that make it print something and end well, with nothing written; and what is no option.
 */
const unfit: ReadonlySet<string> = new Set(['--help', '-h', '--version', '-V', '--']);

/**
 * So many letters are a slip of the hand; what differs in more may be an option that is newer than
 * this table.
 */
const slip = 2;

function unknownOption(word: string, wantsValue: boolean, uses: OptionRead['uses'] = []): WordRead {
  const names = Object.keys(options);
  const near = word.startsWith('--') ? nearestName(word.slice(2), names, slip) : undefined;
  // What keeps partitions must be understood: else the disk would be cleaned.
  const isUnfit = unfit.has(word) || word.startsWith('--save');
  if (near === undefined && !isUnfit) return { wantsValue, isKnown: false, uses };
  return {
    what: `${shownText(word)} is not an option of coreos-installer install`,
    write: near === undefined ? 'options that coreos-installer install --help lists' : `--${near}`,
  };
}
