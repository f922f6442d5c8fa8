import { Buffer } from 'node:buffer';
import { parseConfig } from '../../ignition/parse.ts';
import { decodeResource } from '../../ignition/resource.ts';
import type { Members } from '../schema/schema.ts';

/** Where a node of a pool has the name of the repository with its images. */
export const OS_REPOSITORY_PATH = '/etc/bootwright/os-image-repository';

/** The repository with the images of a pool: HOST/[NAMESPACE/]NAME. */
export interface PoolRepository {
  readonly pool: string;
  readonly repository: string;
}

/** Name of the MachineConfig that tells it. */
export const repositoryConfigName = (pool: string): string => `99-bootwright-os-repository-${pool}`;

/** The MachineConfig itself: whoever is served the config of the pool finds the repository in it. */
export const repositoryConfig = ({ pool, repository }: PoolRepository): Members => ({
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineConfig',
  metadata: {
    name: repositoryConfigName(pool),
    labels: { 'machineconfiguration.openshift.io/role': pool },
  },
  spec: {
    config: {
      ignition: { version: '3.2.0' },
      storage: {
        files: [
          {
            path: OS_REPOSITORY_PATH,
            mode: 0o644,
            overwrite: true,
            contents: { source: `data:,${encodeURIComponent(`${repository}\n`)}` },
          },
        ],
      },
    },
  },
});

/**
 * The repository that a served config tells; undefined where it tells none.
 * @throws AgentError as `parseConfig` and `decodeResource`
 */
export function repositoryIn(served: Uint8Array | string): string | undefined {
  const files = parseConfig(served).config.storage?.files ?? [];
  const file = files.find(({ path }) => path === OS_REPOSITORY_PATH);
  if (file === undefined) return undefined;
  return Buffer.from(decodeResource(file.contents ?? {}))
    .toString('utf8')
    .trim();
}
