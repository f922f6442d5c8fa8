// What the arguments for coreos-installer that a person gives mean for the rest of an installation.
import { isMap } from 'yaml';
import { parseYaml } from '../../lib/yaml-text.ts';
import type { StepScope } from '../step.ts';
import { imageFailure } from './failures.ts';

/** Kernel arguments as arguments for coreos-installer change them. */
export interface KernelArgumentChanges {
  readonly append: readonly string[];
  readonly remove: readonly string[];
}

/**
 * Reads `--append-karg` and `--delete-karg`, as two words or one, in their order; a flag without a
 * value is left out.
 */
export function kernelArgumentChanges(writerArgs: readonly string[]): KernelArgumentChanges {
  const append: string[] = [];
  const remove: string[] = [];
  for (const [index, word] of writerArgs.entries()) {
    const match = /^--(append|delete)-karg(?:=(.*))?$/s.exec(word);
    const value = match === null ? undefined : (match[2] ?? writerArgs[index + 1]);
    if (match === null || value === undefined) continue;
    (match[1] === 'append' ? append : remove).push(value);
  }
  return { append, remove };
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

/** Whether arguments for coreos-installer ask to take the network settings of the host along. */
export const copiesNetwork = (writerArgs: readonly string[]): boolean =>
  writerArgs.some((word) => word === '-n' || word === '--copy-network');

/** Whether arguments for coreos-installer make it keep partitions (`--save-partlabel`, `--save-partindex`). */
export const keepsPartitions = (writerArgs: readonly string[]): boolean =>
  writerArgs.some((word) => /^--save-part(label|index)(=|$)/.test(word));

/** The configuration files that arguments for coreos-installer name, in their order. */
const configFilesIn = (writerArgs: readonly string[]): readonly string[] =>
  writerArgs.flatMap((word, index) => {
    const joined = /^(?:--config-file=|-c)(.+)$/s.exec(word)?.[1];
    const isOption = word === '-c' || word === '--config-file';
    const path = joined ?? (isOption ? writerArgs[index + 1] : undefined);
    return path === undefined ? [] : [path];
  });

/**
 * Whether coreos-installer keeps partitions: because an argument says so, or one of its configuration files, which are
 * on the host. Their keys are the long options (coreos-installer, `docs/customizing-install.md`).
 * @throws AgentError `image.writer-config`, where coreos-installer would not read such a file either
 */
export async function willKeepPartitions({
  host,
  config,
  signal,
}: Pick<StepScope<'host'>, 'host' | 'config' | 'signal'>): Promise<boolean> {
  const { writerArgs } = config.image;
  let isKept = keepsPartitions(writerArgs);
  for (const path of configFilesIn(writerArgs)) {
    const text = await host.readText(path, signal);
    if (text === undefined) throw unreadable(path, 'it is not on the host');
    const { contents, errors } = parseYaml(text);
    if (errors[0] !== undefined) throw unreadable(path, errors[0].message);
    if (!isMap(contents)) continue;
    isKept ||= contents.has('save-partlabel') || contents.has('save-partindex');
  }
  return isKept;
}

const unreadable = (path: string, why: string): Error =>
  imageFailure('image.writer-config', `${path}: ${why}`, { context: { path } });

/** Options of `coreos-installer install` that name an image; they shut out each other. */
const imageOptions = /^(--(image-url|image-file|stream|offline)(=|$)|-[ufs])/;

/** The argument for coreos-installer that names an image, if there is one. */
export const namesImage = (writerArgs: readonly string[]): string | undefined =>
  writerArgs.find((word) => imageOptions.test(word));
