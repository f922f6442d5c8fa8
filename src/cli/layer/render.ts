import { join } from 'node:path';
import { credentialsWithin } from '../../layering/build/credentials-within.ts';
import { planBuild } from '../../layering/build/plan.ts';
import { type BuildFiles, readBuildFiles } from './read-build-files.ts';
import { say } from './say.ts';
import { shellWord } from '../shell-word.ts';
import { writeContext } from './write-context.ts';

/** Folder for what the builder itself should go by, beside the build context. */
const SETTINGS_FOLDER = 'containers';

/**
 * Writes the build context of a pool's image, and prints what to run on it.
 * @throws AgentError `config.file-not-read`, `layering.*`, `ignition.*`
 */
export async function runLayerRender({
  out,
  ...files
}: BuildFiles & { readonly out: string }): Promise<number> {
  const { config, machineConfig } = await readBuildFiles(files);
  const { context, settings } = planBuild({ config, machineConfig });
  const written = [
    ...context,
    ...settings.map(({ path, content }) => ({ path: `${SETTINGS_FOLDER}/${path}`, content })),
  ];
  await writeContext(out, written);
  process.stdout.write(written.map(({ path }) => `${join(out, path)}\n`).join(''));
  const secrets = credentialsWithin(machineConfig);
  if (secrets.length > 0) {
    say(
      'note',
      `${out} holds credentials of the MachineConfig, which nobody but you can read: ${secrets.join(', ')}`,
    );
  }
  if (machineConfig.kernelArguments.length > 0) {
    say('note', 'kernel arguments are set on each machine and never by an image');
  }
  // A folder that begins with a dash would be taken for a flag.
  const folder = out.startsWith('-') ? `./${out}` : out;
  const tag = config.spec.renderedImagePushSpec;
  say('note', `build it with: podman build --tag ${shellWord(tag)} ${shellWord(folder)}`);
  return 0;
}
