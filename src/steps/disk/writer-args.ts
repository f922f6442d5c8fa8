// What the arguments for coreos-installer that a person gives mean for the rest of an installation.
import { isMap } from 'yaml';
import { readWriterArgs, valueMistake, type WriterUse } from '../../lib/writer-args.ts';
import { parseYaml } from '../../lib/yaml-text.ts';
import type { StepScope } from '../step.ts';
import type { KeptPartition } from './facts.ts';
import { diskFailure } from './failures.ts';

/** Kernel arguments as arguments for coreos-installer change them. */
export interface KernelArgumentChanges {
  readonly append: readonly string[];
  readonly remove: readonly string[];
}

/** Reads `--append-karg` and `--delete-karg`, as two words or one, in their order. */
export function kernelArgumentChanges(writerArgs: readonly string[]): KernelArgumentChanges {
  const valuesOf = (name: string): readonly string[] =>
    usesIn(writerArgs).flatMap(({ option, value }) => (option === name ? [value] : []));
  return { append: valuesOf('append-karg'), remove: valuesOf('delete-karg') };
}

/** What of the changes is still to be made to present kernel arguments. */
export function missingChanges(
  { append, remove }: KernelArgumentChanges,
  present: readonly string[],
): KernelArgumentChanges {
  return {
    append: append.filter((argument) => !present.includes(argument)),
    remove: remove.filter((argument) => present.includes(argument)),
  };
}

/** The options among arguments for coreos-installer. */
export const usesIn = (writerArgs: readonly string[]): readonly WriterUse[] =>
  readWriterArgs(writerArgs).uses;

/** Whether arguments for coreos-installer ask to take the network settings of the host along. */
export const copiesNetwork = (writerArgs: readonly string[]): boolean =>
  usesIn(writerArgs).some(({ option }) => option === 'copy-network');

const saving: ReadonlySet<string> = new Set(['save-partlabel', 'save-partindex']);

const isSaving = ({ option }: WriterUse): boolean => saving.has(option);

/** Whether arguments for coreos-installer make it keep partitions. */
export const keepsPartitions = (writerArgs: readonly string[]): boolean =>
  usesIn(writerArgs).some(isSaving);

/** Whether it may keep partitions, which its configuration files say on the host only. */
export const mayKeepPartitions = (writerArgs: readonly string[]): boolean =>
  usesIn(writerArgs).some((use) => isSaving(use) || use.option === 'config-file');

/** Arguments for coreos-installer without those that make it keep partitions. */
export const withoutSaving = (writerArgs: readonly string[]): readonly string[] =>
  writerArgs.filter((word, at) => {
    const isOption = (text = ''): boolean => text.startsWith('--') && saving.has(text.slice(2));
    return !isOption(word) && !isOption(writerArgs[at - 1]) && !/^--save-part\w+=/.test(word);
  });

/** What coreos-installer is told, by arguments and by its configuration files. */
interface WriterSetup {
  /** It keeps partitions, so the disk is not cleaned. */
  readonly keepsPartitions: boolean;
  /** Labels and numbers of the partitions that it keeps. */
  readonly saved: readonly WriterUse[];
  /** Those of them that its configuration files name. */
  readonly savedByFiles: readonly WriterUse[];
  /** Every option: those of configuration files first, as a later one counts. */
  readonly uses: readonly WriterUse[];
}

/**
 * The value of an option, or of its other name, that counts: the last one. Undefined where it is
 * not used.
 */
export const valueOf = (
  uses: readonly WriterUse[],
  ...options: readonly string[]
): string | undefined =>
  uses.findLast(({ option, value }) => options.includes(option) && value !== 'false')?.value;

/**
 * Reads what coreos-installer is told. Its configuration files are on the host; their keys are the
 * long options (coreos-installer, `docs/customizing-install.md`).
 * @throws AgentError `image.writer-config`, where coreos-installer would not read such a file
 * either
 */
export async function readWriterSetup({
  host,
  config,
  signal,
}: Pick<StepScope<'host'>, 'host' | 'config' | 'signal'>): Promise<WriterSetup> {
  const uses = usesIn(config.image.writerArgs);
  const inFiles: WriterUse[] = [];
  for (const { value: path } of uses.filter(({ option }) => option === 'config-file')) {
    const text = await host.readText(path, signal);
    if (text === undefined) throw unreadable(path, 'it is not on the host');
    inFiles.push(...usesInFile(path, text));
  }
  const all = [...inFiles, ...uses];
  const saved = all.filter(isSaving);
  return {
    keepsPartitions: saved.length > 0,
    saved,
    savedByFiles: inFiles.filter(isSaving),
    uses: all,
  };
}

function usesInFile(path: string, text: string): readonly WriterUse[] {
  const { contents, errors } = parseYaml(text);
  if (errors[0] !== undefined) throw unreadable(path, errors[0].message);
  if (!isMap(contents)) return [];
  const keys = Object.entries(contents.toJSON() as Readonly<Record<string, unknown>>);
  const clash = keys.find(([key]) => key === 'dest-device' || key === 'ignition-url');
  if (clash !== undefined) throw unreadable(path, `${clash[0]} is given to it by this program`);
  const slip = keys.find(([key]) => key.startsWith('save-') && !saving.has(key));
  if (slip !== undefined)
    throw unreadable(path, `${slip[0]} is not known, and may keep partitions`);
  const uses = keys.flatMap(([option, value]) =>
    [value].flat().map((one) => ({ option, value: String(one) })),
  );
  const mistake = uses.map(valueMistake).find((one) => one !== undefined);
  if (mistake !== undefined) throw unreadable(path, `${mistake.what}: write ${mistake.write}`);
  return uses;
}

/** What coreos-installer would stop at when the disk is lost already. */
export const unreadable = (path: string, why: string): Error =>
  diskFailure('image.writer-config', `${path}: ${why}`, { context: { path } });

type Partition = Pick<KeptPartition, 'number' | 'label'>;

/**
 * Labels and numbers of partitions to keep that fit none of the disk, each by itself:
 * coreos-installer takes that for nothing to keep (coreos-installer 0.26, `src/blockdev.rs`).
 */
export const missingSaved = (
  saved: readonly WriterUse[],
  partitions: readonly Partition[],
): readonly string[] =>
  eachSaved(saved)
    .filter(({ fits }) => !partitions.some(fits))
    .map(({ option, wanted }) => `--${option} ${wanted}`);

/** The partitions that options make coreos-installer keep. */
export const savedAmong = <P extends Partition>(
  uses: readonly WriterUse[],
  partitions: readonly P[],
): readonly P[] => {
  const saved = eachSaved(uses.filter(isSaving));
  return partitions.filter((one) => saved.some(({ fits }) => fits(one)));
};

const eachSaved = (saved: readonly WriterUse[]) =>
  saved.flatMap(({ option, value }) =>
    value.split(',').map((wanted) => ({
      option,
      wanted,
      fits: ({ number, label }: Partition): boolean =>
        option === 'save-partlabel' ? globOf(wanted).test(label) : isInRange(number, wanted),
    })),
  );

/** A pattern of labels: `*`, `?`, `[a-z]` and `[!a-z]` (Rust, crate `glob`). */
function globOf(pattern: string): RegExp {
  const source = pattern
    .replaceAll(/[\\^$.|+(){}]/g, String.raw`\$&`)
    .replaceAll(/\*+/g, '.*')
    .replaceAll('?', '.')
    .replaceAll('[!', '[^');
  try {
    return new RegExp(`^${source}$`, 's');
  } catch {
    return /(?!)/;
  }
}

/** `5`, `5-7`, `5-` or `-7`. */
function isInRange(number: number, range: string): boolean {
  const [from = '', to, ...more] = range.split('-');
  if (more.length > 0 || !/^\d*$/.test(from) || !/^\d*$/.test(to ?? '')) return false;
  if (to === undefined) return from !== '' && number === Number(from);
  return (from === '' || number >= Number(from)) && (to === '' || number <= Number(to));
}

/** The option for coreos-installer that names an image, if there is one. */
export const namesImage = (uses: readonly WriterUse[]): string | undefined => {
  const use = uses.find(({ option }) => imageOptions.has(option));
  return use === undefined ? undefined : `--${use.option}`;
};

const imageOptions: ReadonlySet<string> = new Set(['image-url', 'image-file', 'stream', 'offline']);
