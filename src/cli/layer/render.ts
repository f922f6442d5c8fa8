import { chmod, mkdir, mkdtemp, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { ifPresent } from '../../adapters/file-access.ts';
import { credentialsWithin } from '../../layering/api/machine-config.ts';
import { type ContextFile, planBuild } from '../../layering/build/build-plan.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { print, printJson, printNote, shellWord } from '../messages.ts';
import { type BuildFiles, readBuildFiles } from './files.ts';

/** Folder for what the builder itself should go by, beside the build context. */
const SETTINGS_FOLDER = 'containers';

/** Arguments of `layer render`. */
export interface RenderCall extends BuildFiles {
  /** Folder for the build context. */
  readonly out: string;
  /** `text`, unless it is `json`. */
  readonly format?: string;
}

/**
 * Writes the build context of a pool's image, and prints what to run on it.
 * @throws AgentError `config.file-not-read`, `layering.*`, `ignition.*`
 */
export async function runLayerRender({ out, format, ...files }: RenderCall): Promise<number> {
  const { config, machineConfig } = await readBuildFiles(files);
  const { context, settings } = planBuild({ config, machineConfig });
  const written = [
    ...context,
    ...settings.map(({ path, content }) => ({ path: `${SETTINGS_FOLDER}/${path}`, content })),
  ];
  await writeContext(out, written);
  const paths = written.map(({ path }) => join(out, path));
  if (format === 'json') printJson({ v: 1, files: paths });
  else print(paths.map((path) => `${path}\n`).join(''));
  const secrets = credentialsWithin(machineConfig);
  if (secrets.length > 0) {
    printNote(
      'note',
      `${out} holds credentials of the MachineConfig, readable by you only: ${secrets.join(', ')}`,
    );
  }
  if (machineConfig.kernelArguments.length > 0) {
    printNote(
      'note',
      'the image does not include the kernel arguments: the cluster sets them on each node',
    );
  }
  // A directory that begins with a dash would be taken for a flag.
  const folder = out.startsWith('-') ? `./${out}` : out;
  const tag = config.spec.renderedImagePushSpec;
  printNote('note', `build it with: podman build --tag ${shellWord(tag)} ${shellWord(folder)}`);
  return 0;
}

const ownerOnly = { folder: 0o700, file: 0o600 };

/**
 * Writes files to a directory that is empty or absent, all of them or none. They hold credentials
 * of machines, so only their owner can read them.
 * @throws AgentError `layering.folder-taken`, `layering.not-written`
 */
export async function writeContext(out: string, files: readonly ContextFile[]): Promise<void> {
  const folder = resolve(out);
  const isThere = await isEmptyFolder(folder, out);
  let made: string | undefined;
  let beside: string | undefined;
  try {
    const parent = isThere ? folder : dirname(folder);
    made = await mkdir(parent, { recursive: true });
    beside = await mkdtemp(join(parent, '.bootwright-render-'));
    for (const { path, content } of files) await write(join(beside, path), content);
    if (isThere) await moveInto(folder, beside);
    else await rename(beside, folder);
  } catch (cause) {
    const left = made ?? beside;
    if (left !== undefined) await rm(left, { recursive: true, force: true });
    throw layeringFailure('layering.not-written', `${out} cannot be written`, { cause });
  }
}

/** Whether there is such a folder, and nothing in it. */
async function isEmptyFolder(folder: string, out: string): Promise<boolean> {
  const entries = await ifPresent(readdir(folder)).catch((cause: unknown) => {
    if ((cause as NodeJS.ErrnoException).code === 'ENOTDIR')
      throw taken(`${out} is not a directory`);
    throw layeringFailure('layering.not-written', `${out} cannot be written`, { cause });
  });
  if (entries === undefined) return false;
  if (entries.length > 0) throw taken(`the directory ${out} is not empty`);
  return true;
}

const taken = (message: string): Error => layeringFailure('layering.folder-taken', message);

async function write(path: string, content: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: ownerOnly.folder });
  await writeFile(path, content, { mode: ownerOnly.file });
}

/** An existing directory is not replaced: it may be the working directory of a shell. */
async function moveInto(folder: string, beside: string): Promise<void> {
  await chmod(folder, ownerOnly.folder);
  for (const name of await readdir(beside)) await rename(join(beside, name), join(folder, name));
  await rmdir(beside);
}
