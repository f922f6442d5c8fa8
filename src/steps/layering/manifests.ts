import type { Config } from '../../config/schema.ts';
import { all, condition } from '../../engine/condition.ts';
import { PULL_SECRET_PATH } from '../../ignition/resource.ts';
import { defaultMachineOSConfig } from '../../layering/api/os-config.ts';
import { isPullRepository } from '../../layering/api/schema.ts';
import {
  readObjects,
  type SourceFile,
  type SourceObject,
} from '../../layering/api/source-object.ts';
import { layeringFailure } from '../../layering/failures.ts';
import {
  isManifestName,
  poolsWithoutConfig,
  pushSecretObject,
  readOsManifests,
} from '../../layering/manifests/bootstrap-manifests.ts';
import { repositoryConfig, repositoryConfigName } from '../../layering/manifests/served-config.ts';
import { mergePullSecrets, pullSecretIn, narrowedTo } from '../../layering/registry/credentials.ts';
import { secretsFolder } from '../../layering/registry/staging-registry.ts';
import { minutes } from '../../model/duration.ts';
import { buildsOsImages } from '../conditions.ts';
import { type HostScope, type StepScope, step } from '../step.ts';
import { unlessRequested } from './conditions.ts';
import { BuildRequest } from './facts.ts';
import { readTextOr } from '../host-commands.ts';

/**
 * Folders of the manifests that bootkube renders from and applies (openshift/installer,
 * bootkube.sh).
 */
export const manifestFolders = ['/opt/openshift/openshift', '/opt/openshift/manifests'] as const;

/** Every manifest of the cluster on the bootstrap host. */
export async function readManifestFiles({
  host,
  signal,
}: HostScope): Promise<readonly SourceFile[]> {
  const files: SourceFile[] = [];
  for (const folder of manifestFolders) {
    for (const name of await host.list(folder, signal)) {
      if (!isManifestName(name)) continue;
      const path = `${folder}/${name}`;
      const text = await host.readText(path, signal);
      if (text !== undefined) files.push({ path, text });
    }
  }
  return files;
}

/**
 * Reads the only object of a kind from a manifest on the host.
 * @throws AgentError `layering.manifest-unusable`, `layering.malformed-file`,
 * `layering.wrong-object`
 */
export async function readManifest(
  { host, signal }: HostScope,
  path: string,
  kind: string,
): Promise<SourceObject> {
  const text = await readTextOr({ host, signal }, path, () => unusable(path, 'is not there'));
  const found = readObjects({ path, text }).filter(({ value }) => value['kind'] === kind);
  const [object] = found;
  if (object === undefined || found.length > 1) {
    throw unusable(path, `holds ${found.length} objects of kind ${kind} instead of one`);
  }
  return object;
}

const unusable = (path: string, problem: string): Error =>
  layeringFailure('layering.manifest-unusable', `${path} ${problem}`, { context: { path } });

/**
 * Calls `use` with a file of the credentials in a Secret of the manifests, and removes the file
 * afterwards.
 * @throws AgentError `layering.bad-credentials`, `layering.manifest-unusable`
 */
export async function withSecretFile<T>(
  scope: HostScope,
  secret: string,
  name: string,
  use: (authFile: string) => Promise<T>,
): Promise<T> {
  const text = pullSecretIn(await readManifest(scope, secret, 'Secret'));
  return withAuthFile(scope, name, text, use);
}

/**
 * Calls `use` with a file of credentials that only root may read, and removes it afterwards.
 * @throws those of `use`
 */
export async function withAuthFile<T>(
  { host, signal }: HostScope,
  name: string,
  text: string,
  use: (authFile: string) => Promise<T>,
): Promise<T> {
  const folder = `${secretsFolder}/auth`;
  const path = `${folder}/${name}.json`;
  await host.exec(['install', '--directory', '--mode', '0700', folder], {
    signal,
    limit: minutes(2),
  });
  await host.writeFile(path, text, { signal, mode: 0o600 });
  try {
    return await use(path);
  } finally {
    const { signal: unheard } = new AbortController();
    await host.remove(path, unheard).catch(() => undefined);
  }
}

/**
 * The credentials for the pull of the base, with further ones added.
 * @param baseSecret manifest of a Secret; the pull secret of the cluster without it
 * @throws AgentError `layering.bad-credentials`
 */
export async function pullSecretFor(
  scope: HostScope,
  baseSecret: string | undefined,
  more: readonly string[] = [],
): Promise<string> {
  const texts = [{ from: PULL_SECRET_PATH, text: await textOf(scope, PULL_SECRET_PATH) }];
  if (baseSecret !== undefined) {
    const from = await readManifest(scope, baseSecret, 'Secret');
    texts.push({ from: baseSecret, text: pullSecretIn(from) });
  }
  for (const path of more) texts.push({ from: path, text: await textOf(scope, path) });
  return mergePullSecrets(texts);
}

const textOf = (scope: HostScope, path: string): Promise<string> =>
  readTextOr(scope, path, () => layeringFailure('layering.bad-credentials', `${path} is missing`));

const [folder] = manifestFolders;
const secretName = 'bootwright-push';

/** The manifest of the Secret for pushes, made from the pull secret of the cluster. */
const pushSecretPath = `${folder}/99-bootwright-push-secret.yaml`;

/**
 * Creates a MachineOSConfig, which adds nothing to the MachineConfig, for each pool without one, if
 * the configuration names the repository of images. The pull secret of the cluster is used for the
 * push: it must have credentials for that repository.
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
    // The Secret comes first, so that no MachineOSConfig exists without it.
    await write(scope, pushSecretPath, pushSecretObject(secretName, credentials));
    for (const pool of pools) {
      const object = defaultMachineOSConfig(pool, `${pushTo}/${pool}:latest`, secretName);
      await write(scope, `${folder}/99-bootwright-os-${pool}.yaml`, object);
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
 * The credentials of the cluster's pull secret for a repository.
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

/** JSON is valid YAML, and the readers of the folder select files by name. */
async function write({ host, signal }: HostScope, path: string, object: object): Promise<void> {
  await host.writeFile(path, `${JSON.stringify(object, null, 2)}\n`, { signal, mode: 0o600 });
}

/**
 * Names the image repository of a pool in a file of its MachineConfig. The cluster serves the OS
 * image of the release to the first workers, and they reach no other source before their first
 * boot. This host serves the masters their image.
 */
export const nameRepositories = step({
  id: 'layering/name-repositories',
  title: 'Add a MachineConfig with the image repository of each pool',
  uses: ['host'],
  needs: { request: BuildRequest },
  when: buildsOsImages,
  skipIf: unlessRequested,
  limit: minutes(5),
  run: async ({ host, signal }, { request }) => {
    if (request.kind !== 'on') return;
    for (const { pool, repository } of request.pools.filter((one) => one.pool !== 'master')) {
      const text = `${JSON.stringify(repositoryConfig(pool, repository), null, 2)}\n`;
      const path = `${folder}/${repositoryConfigName(pool)}.yaml`;
      await host.writeFile(path, text, { signal, mode: 0o644 });
    }
  },
});
