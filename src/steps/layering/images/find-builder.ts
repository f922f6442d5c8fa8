import {
  type BuilderChoice,
  type BuilderName,
  builderVersionArgv,
  chooseBuilder,
} from '../../../layering/build/container-tools.ts';
import { layeringFailure } from '../../../layering/failures.ts';
import { seconds } from '../../../model/duration.ts';
import { AgentError } from '../../../model/failure.ts';
import type { ImageWork } from './work.ts';

/** The programs that are looked for. */
export const builderNames: readonly BuilderName[] = ['buildah', 'podman'];

/**
 * Finds the program that builds on this host.
 * @throws AgentError `layering.no-builder`
 */
export async function findBuilder(work: ImageWork): Promise<BuilderChoice> {
  const there = new Set<BuilderName>();
  for (const name of builderNames) if (await isThere(work, name)) there.add(name);
  const choice = chooseBuilder(there);
  if (choice !== undefined) return choice;
  throw layeringFailure('layering.no-builder', 'neither buildah nor podman is on the host');
}

async function isThere({ host, signal }: ImageWork, name: BuilderName): Promise<boolean> {
  try {
    await host.exec(builderVersionArgv(name), { signal, limit: seconds(30) });
    return true;
  } catch (error) {
    if (error instanceof AgentError && error.code === 'command.not-found') return false;
    throw error;
  }
}
