import type { Config } from '../../config/schema.ts';
import { all, condition } from '../../engine/condition.ts';
import { PULL_SECRET_PATH } from '../../ignition/resource.ts';
import { defaultMachineOSConfig } from '../../layering/api/os-config.ts';
import { isPullRepository } from '../../layering/api/schema.ts';
import { layeringFailure } from '../../layering/failures.ts';
import {
  poolsWithoutConfig,
  pushSecretObject,
  readOsManifests,
} from '../../layering/manifests/bootstrap-manifests.ts';
import { narrowedTo } from '../../layering/registry/credentials.ts';
import { repositoryConfig, repositoryConfigName } from '../../layering/manifests/served-config.ts';
import { minutes } from '../../model/duration.ts';
import { buildsOsImages } from '../conditions.ts';
import { step, type StepScope } from '../step.ts';
import { BuildRequest } from './facts.ts';
import { manifestFolders, readManifestFiles } from './manifests.ts';

const [folder] = manifestFolders;
const secretName = 'bootwright-push';

/** The manifest of the Secret that may push, made of the pull secret of the cluster. */
const pushSecretPath = `${folder}/99-bootwright-push-secret.yaml`;

/** The manifest of the MachineOSConfig of a pool that had none. */
const defaultConfigPath = (pool: string): string => `${folder}/99-bootwright-os-${pool}.yaml`;

/**
 * Gives each pool that no MachineOSConfig is for one that adds nothing to its MachineConfig, when the configuration
 * says where images go. The pull secret of the cluster is what pushes: it has to hold credentials for that place.
 */
export const addDefaultOsConfigs = step({
  id: 'layering/add-default-os-configs',
  title: 'Add a MachineOSConfig for each pool without one',
  uses: ['host'],
  when: all(
    buildsOsImages,
    condition<Config>('layering.pushTo is set', ({ layering }) => layering.pushTo !== ''),
  ),
  limit: minutes(5),
  requires: [({ layering }) => refuseUnusable(`${layering.pushTo}/pool`)],
  explain: ({ layering }) => `their images are pushed to ${layering.pushTo}`,
  run: async (scope) => {
    const { config, note } = scope;
    const pools = poolsWithoutConfig(readOsManifests(await readManifestFiles(scope)));
    if (pools.length === 0) return;
    const { pushTo } = config.layering;
    for (const pool of pools) refuseUnusable(`${pushTo}/${pool}`);
    const credentials = await credentialsFor(scope, `${pushTo}/${pools[0] ?? ''}`);
    // First, so that no MachineOSConfig is there without it.
    await write(scope, pushSecretPath, pushSecretObject(secretName, credentials));
    for (const pool of pools) {
      const request = { pool, pushSpec: `${pushTo}/${pool}:latest`, pushSecret: secretName };
      await write(scope, defaultConfigPath(pool), defaultMachineOSConfig(request));
    }
    note(
      'warn',
      `every node gets the pull secret, which may push to ${pushTo}: use a MachineOSConfig with a push Secret of its own`,
    );
  },
});

function refuseUnusable(repository: string): void {
  if (isPullRepository(repository)) return;
  throw layeringFailure(
    'layering.push-to-unusable',
    `${repository} is not a valid image name for the cluster`,
  );
}

/**
 * What the pull secret of the cluster holds for a repository.
 * @throws AgentError `layering.no-push-credentials`, `layering.bad-credentials`
 */
async function credentialsFor(
  { host, signal }: StepScope<'host'>,
  repository: string,
): Promise<string> {
  const text = (await host.readText(PULL_SECRET_PATH, signal)) ?? '';
  const found = narrowedTo(repository, { from: PULL_SECRET_PATH, text });
  if (found !== undefined) return found;
  throw layeringFailure(
    'layering.no-push-credentials',
    `the pull secret of the cluster has no credentials for ${repository}`,
  );
}

/** JSON is YAML too, and the folder's readers go by the name. */
async function write(
  { host, signal }: StepScope<'host'>,
  path: string,
  object: object,
): Promise<void> {
  await host.writeFile(path, `${JSON.stringify(object, null, 2)}\n`, { signal, mode: 0o600 });
}

/** The manifest that names the image repository of a pool. */
const repositoryManifest = (pool: string): string => `${folder}/${repositoryConfigName(pool)}.yaml`;

/**
 * Names the image repository of a pool in a file of its MachineConfig. The cluster serves the first workers the OS image
 * of the release, and they reach nothing else before their first boot. Masters are served their image by this host.
 */
export const nameRepositories = step({
  id: 'layering/name-repositories',
  title: 'Add a MachineConfig with the image repository of each pool',
  uses: ['host'],
  needs: { request: BuildRequest },
  when: buildsOsImages,
  skipIf: ({ request }) =>
    request.kind === 'off' || request.delivery !== 'first-boot' ? request.why : undefined,
  limit: minutes(5),
  run: async ({ host, signal }, { request }) => {
    if (request.kind === 'off') return;
    for (const { pool, repository } of request.pools.filter((one) => one.pool !== 'master')) {
      const text = `${JSON.stringify(repositoryConfig({ pool, repository }), null, 2)}\n`;
      await host.writeFile(repositoryManifest(pool), text, { signal, mode: 0o644 });
    }
  },
});
