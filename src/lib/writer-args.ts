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

const shorts: ReadonlyMap<string, WriterOption> = new Map(
  Object.values(options).flatMap((option) =>
    option.short === undefined ? [] : [[option.short, option] as const],
  ),
);

/** What is wrong with arguments, and what to write instead. */
interface Mistake {
  readonly what: string;
  readonly write: string;
}

/** What further arguments for `coreos-installer install` are to us. */
interface WriterArgsRead {
  /** The first thing that it would not take. */
  readonly mistake?: Mistake;
  /** Options that a newer one may have; a value that may follow one is taken for its value. */
  readonly unknown: readonly string[];
}

/** Reads arguments for `coreos-installer install`. */
export function readWriterArgs(args: readonly string[]): WriterArgsRead {
  const unknown: string[] = [];
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? '';
    const read = word.startsWith('--') ? readLong(word) : readShort(word);
    if ('what' in read) return { mistake: read, unknown };
    const isMissing = isMissingAfter(word, args[at + 1]);
    if (read.unknown !== undefined) unknown.push(read.unknown);
    else if (read.wantsValue && isMissing) {
      const mistake = { what: `option ${word}: the value is missing`, write: `"${word}","VALUE"` };
      return { mistake, unknown };
    }
    if (read.wantsValue && !isMissing) at += 1;
  }
  return { unknown };
}

type WordRead = { readonly wantsValue: boolean; readonly unknown?: string } | Mistake;

function readLong(word: string): WordRead {
  const [, name = '', behind] = /^--([^=]*)(=.*)?$/s.exec(word) ?? [];
  const option = Object.hasOwn(options, name) ? options[name] : undefined;
  if (option === undefined) return unknownOption(`--${name}`, behind === undefined);
  if (option.takesValue) return { wantsValue: behind === undefined };
  if (behind === undefined) return { wantsValue: false };
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
  for (let at = 1; at < word.length; at += 1) {
    const option = shorts.get(word.charAt(at));
    const isLast = at === word.length - 1;
    if (option === undefined) return unknownOption(`-${word.charAt(at)}`, isLast);
    if (option.takesValue) return { wantsValue: isLast };
  }
  return { wantsValue: false };
}

/** A value must not look like an option; ranges of partitions may, "-7". */
const isMissingAfter = (option: string, next: string | undefined): boolean =>
  next === undefined || (option !== '--save-partindex' && next.startsWith('-') && next.length > 1);

/** Options that make it print something and end well, with nothing written; and what is no option. */
const unfit: ReadonlySet<string> = new Set(['--help', '-h', '--version', '-V', '--']);

/** So many letters are a slip of the hand; what differs in more may be an option that is newer than this table. */
const slip = 2;

function unknownOption(word: string, wantsValue: boolean): WordRead {
  const names = Object.keys(options);
  const near = word.startsWith('--') ? nearestName(word.slice(2), names, slip) : undefined;
  if (near === undefined && !unfit.has(word)) return { wantsValue, unknown: shownText(word) };
  return {
    what: `${shownText(word)} is not an option of coreos-installer install`,
    write: near === undefined ? 'options that coreos-installer install --help lists' : `--${near}`,
  };
}
