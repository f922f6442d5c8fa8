// The effects of the given coreos-installer arguments on the rest of an installation.
import { isMap } from 'yaml';
import { secretValues } from '../../lib/masker.ts';
import { parseYaml } from '../../lib/yaml-text.ts';
import { readWriterArgs, valueMistake, type WriterUse } from '../../settings/writer-args.ts';
import type { KernelArgumentChange } from '../../os/kernel-arguments.ts';
import type { StepScope } from '../step.ts';
import { diskFailure } from './failures.ts';

/**
 * The changes of kernel arguments by options of coreos-installer, which removes first, too, and
 * appends those of `--console` last (0.26, `src/install.rs`).
 */
export function kernelArgumentChanges(uses: readonly WriterUse[]): KernelArgumentChange {
  const valuesOf = (name: string): readonly string[] =>
    uses.flatMap(({ option, value }) => (option === name ? [value] : []));
  const consoles = valuesOf('console').map((value) => `console=${value}`);
  return { append: [...valuesOf('append-karg'), ...consoles], remove: valuesOf('delete-karg') };
}

/** The options in coreos-installer arguments. */
export const usesIn = (writerArgs: readonly string[]): readonly WriterUse[] =>
  readWriterArgs(writerArgs).uses;

/**
 * The effective value of an option, or of its other name: the last one. Undefined if it is not
 * used.
 */
export const valueOf = (
  uses: readonly WriterUse[],
  ...options: readonly string[]
): string | undefined =>
  uses.findLast(({ option, value }) => options.includes(option) && value !== 'false')?.value;

const saving: ReadonlySet<string> = new Set(['save-partlabel', 'save-partindex']);

const isSaving = ({ option }: WriterUse): boolean => saving.has(option);

/** Whether coreos-installer arguments keep partitions. */
export const keepsPartitions = (writerArgs: readonly string[]): boolean =>
  usesIn(writerArgs).some(isSaving);

/**
 * Whether coreos-installer may keep partitions: an argument says so, or a configuration file may
 * say so, which is readable only on the host.
 */
export const mayKeepPartitions = (writerArgs: readonly string[]): boolean =>
  usesIn(writerArgs).some((use) => isSaving(use) || use.option === 'config-file');

/**
 * Reads the options of coreos-installer, and hides their passwords. Its configuration files are on
 * the host; their keys are the long options (coreos-installer, `docs/customizing-install.md`).
 * @returns whether it keeps partitions, so that the disk is not cleaned; labels and numbers of the
 * kept ones; and every option, those of configuration files first, as a later one counts
 * @throws AgentError `image.writer-config` if coreos-installer could not read such a file either
 */
export async function readWriterSetup({
  host,
  config,
  signal,
  hide,
}: Pick<StepScope<'host'>, 'host' | 'config' | 'signal' | 'hide'>) {
  const inArgs = usesIn(config.image.writerArgs);
  const inFiles: WriterUse[] = [];
  for (const { option, value: path } of inArgs) {
    if (option !== 'config-file') continue;
    const text = await host.readText(path, signal);
    if (text === undefined) throw unreadable(path, 'it is not on the host');
    inFiles.push(...usesInFile(path, text));
  }
  secretValues({ inFiles: inFiles.map(({ value }) => value) }).forEach(hide);
  const uses: readonly WriterUse[] = [...inFiles, ...inArgs];
  const saved = uses.filter(isSaving);
  return { keepsPartitions: saved.length > 0, saved, uses };
}

function usesInFile(path: string, text: string): readonly WriterUse[] {
  const { contents, errors } = parseYaml(text);
  if (errors[0] !== undefined) throw unreadable(path, errors[0].message);
  if (contents === null) return [];
  if (!isMap(contents)) throw unreadable(path, 'it is not a map of options');
  const keys = Object.entries(contents.toJSON() as Readonly<Record<string, unknown>>);
  for (const [key] of keys) {
    if (key === 'dest-device' || key === 'ignition-url')
      throw unreadable(path, `${key} is given to it by this program`);
    // A misspelled option that keeps partitions would lose them in the cleaning of the disk.
    if (/save|part/i.test(key) && !saving.has(key))
      throw unreadable(path, `${key} is not known, and may keep partitions`);
  }
  const uses = keys.flatMap(([option, value]) =>
    [value].flat().map((one) => ({ option, value: String(one) })),
  );
  const mistake = uses.map(valueMistake).find((one) => one !== undefined);
  if (mistake !== undefined) throw unreadable(path, `${mistake.what}: write ${mistake.write}`);
  return uses;
}

/** An error at which coreos-installer would stop after the data of the disk is lost. */
export const unreadable = (path: string, why: string): Error =>
  diskFailure('image.writer-config', `${path}: ${why}`, { context: { path } });
