import { repositoryConfig, repositoryConfigName } from '../../layering/served-config.ts';
import { minutes } from '../../model/duration.ts';
import { step } from '../step.ts';
import { buildsOsImages } from './conditions.ts';
import { OsImageOrder } from './facts.ts';
import { manifestFolders } from './manifest-files.ts';

const [folder] = manifestFolders;

/** The manifest that tells where the images of a pool lie. */
export const repositoryManifest = (pool: string): string =>
  `${folder}/${repositoryConfigName(pool)}.yaml`;

/**
 * Tells the workers-to-be where the images of their pool lie, by a file in their MachineConfig: the cluster serves the
 * first of them the system of the release, and nobody else speaks with them before their first boot. Masters are served
 * their image by this host.
 */
export const nameRepositories = step({
  id: 'layering/name-repositories',
  title: 'Write into the MachineConfigs where the images of their pools lie',
  uses: ['host'],
  needs: { order: OsImageOrder },
  when: buildsOsImages,
  skipIf: ({ order }) =>
    order.kind === 'off' || order.delivery !== 'first-boot' ? order.why : undefined,
  limit: minutes(5),
  run: async ({ host, signal }, { order }) => {
    if (order.kind === 'off') return;
    for (const { pool, repository } of order.pools.filter((one) => one.pool !== 'master')) {
      const text = `${JSON.stringify(repositoryConfig({ pool, repository }), null, 2)}\n`;
      await host.writeFile(repositoryManifest(pool), text, { signal, mode: 0o644 });
    }
  },
});
