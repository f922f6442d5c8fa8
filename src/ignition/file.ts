import { ignitionFailure } from './failures.ts';
import { decodeResource } from './resource.ts';
import type { Config } from './types.ts';

/** Where a bootstrap config carries the pull secret of the cluster. */
export const PULL_SECRET_PATH = '/root/.docker/config.json';

/**
 * The content of one file of a config. What is read may be a secret.
 *
 * @throws AgentError `ignition.file-missing`, and as `decodeResource`
 */
export function readFileContent(config: Config, path: string): Uint8Array {
  const file = config.storage?.files?.find((candidate) => candidate.path === path);
  if (file === undefined) {
    throw ignitionFailure('ignition.file-missing', `ignition config has no file ${path}`, {
      context: { path },
    });
  }
  return decodeResource(file.contents ?? {});
}
