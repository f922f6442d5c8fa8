import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { planBuild } from '../../layering/build/plan.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { readMachineConfig } from '../../layering/machine-config.ts';
import { readMachineOSConfig } from '../../layering/os-config/read.ts';
import { readOne } from './read-source.ts';

/** Folder for what the builder itself should go by, beside the build context. */
const SETTINGS_FOLDER = 'containers';

/**
 * Writes the build context of a pool's image, and prints what to run on it.
 * @throws AgentError `config.file-not-read`, `layering.*`, `ignition.*`
 */
export async function runLayerRender(options: {
  readonly osConfig: string;
  readonly renderedConfig: string;
  readonly out: string;
}): Promise<number> {
  const { out } = options;
  const config = readMachineOSConfig(await readOne(options.osConfig, 'MachineOSConfig'));
  const machineConfig = readMachineConfig(await readOne(options.renderedConfig, 'MachineConfig'));
  const plan = planBuild({ config, machineConfig });
  await requireEmpty(out);
  const settings = plan.settings.map(({ path, content }) => ({
    path: `${SETTINGS_FOLDER}/${path}`,
    content,
  }));
  for (const { path, content } of [...plan.context, ...settings]) {
    await write(join(out, path), content);
    process.stdout.write(`${join(out, path)}\n`);
  }
  process.stderr.write(
    `note: build it with: podman build --tag ${config.spec.renderedImagePushSpec} ${out}\n`,
  );
  if (machineConfig.kernelArguments.length > 0) {
    process.stderr.write('note: kernel arguments are set on each machine and never by an image\n');
  }
  return 0;
}

async function requireEmpty(folder: string): Promise<void> {
  const entries = await readdir(folder).catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw notWritten(folder, error);
  });
  if (entries.length === 0) return;
  throw layeringFailure('layering.not-written', `the folder ${folder} is not empty`);
}

async function write(path: string, content: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  } catch (cause) {
    throw notWritten(path, cause);
  }
}

const notWritten = (path: string, cause: unknown): Error =>
  layeringFailure('layering.not-written', `${path} cannot be written`, { cause });
