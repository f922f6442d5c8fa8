import { nearestName } from '../lib/nearest.ts';
import { shownText } from './settings.ts';

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

/** The first thing that `coreos-installer install` would not take among further arguments. */
export function mistakeInWriterArgs(args: readonly string[]): Mistake | undefined {
  for (let at = 0; at < args.length; at += 1) {
    const word = args[at] ?? '';
    const read = word.startsWith('--') ? readLong(word) : readShort(word);
    if ('what' in read) return read;
    if (!read.wantsValue) continue;
    at += 1;
    if (isMissing(word, args[at])) {
      return { what: `option ${word}: the value is missing`, write: `"${word}","VALUE"` };
    }
  }
  return undefined;
}

type WordRead = { readonly wantsValue: boolean } | Mistake;

function readLong(word: string): WordRead {
  const [, name = '', behind] = /^--([^=]*)(=.*)?$/s.exec(word) ?? [];
  const option = Object.hasOwn(options, name) ? options[name] : undefined;
  if (option === undefined) return unknownOption(`--${name}`);
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
    if (option === undefined) return unknownOption(`-${word.charAt(at)}`);
    if (option.takesValue) return { wantsValue: at === word.length - 1 };
  }
  return { wantsValue: false };
}

/** A value must not look like an option; ranges of partitions may, "-7". */
const isMissing = (option: string, next: string | undefined): boolean =>
  next === undefined || (option !== '--save-partindex' && next.startsWith('-') && next.length > 1);

function unknownOption(word: string): Mistake {
  const near = word.startsWith('--') ? nearestName(word.slice(2), Object.keys(options)) : undefined;
  return {
    what: `${shownText(word)} is not an option of coreos-installer install`,
    write: near === undefined ? 'options that coreos-installer install --help lists' : `--${near}`,
  };
}
