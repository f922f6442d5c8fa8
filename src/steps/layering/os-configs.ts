import { dirname } from 'node:path/posix';
import type { Config } from '../../config/schema.ts';
import { isActive } from '../../engine/condition.ts';
import { layeringFailure } from '../../layering/failures.ts';
import {
  isBuiltBefore,
  isOsConfigOf,
  namesOf,
  poolsWithoutConfig,
  readableDocuments,
  readOsManifests,
  registrySecretOf,
  withoutDocuments,
} from '../../layering/manifests/bootstrap-manifests.ts';
import {
  type BuildableConfig,
  buildRequestsIn,
  type BuildRequests,
} from '../../layering/manifests/check-manifests.ts';
import { asideFolders } from '../../layering/manifests/bootstrap-files.ts';
import { layeringSupport } from '../../layering/manifests/release-support.ts';
import type { SourceFile, SourceObject } from '../../layering/api/source-object.ts';
import { repositoryOf } from '../../lib/image-name.ts';
import { minutes } from '../../model/duration.ts';
import { BootstrapIgnition } from '../bootstrap/fetch-ignition.ts';
import {
  buildsOsImages,
  explainLayering,
  looksForOsConfigs,
  noVersion,
  usesExistingRoot,
} from '../conditions.ts';
import { step, type StepScope } from '../step.ts';
import { BuildRequest, type PoolRequest } from './facts.ts';
import { readManifestFiles } from './manifests.ts';

/**
 * Determines whether OS images are built, and for which pools. Everything that would fail after the
 * masters are blocked is refused here.
 */
export const readOsConfigs = step({
  id: 'layering/read-os-configs',
  title: 'Read the MachineOSConfigs among the manifests',
  uses: ['host'],
  needs: { bootstrap: BootstrapIgnition },
  gives: BuildRequest,
  when: looksForOsConfigs,
  limit: minutes(5),
  explain: explainLayering,
  run: async (scope, { bootstrap }) => {
    const { config } = scope;
    const manifests = readOsManifests(await readManifestFiles(scope));
    const found = buildRequestsIn(manifests);
    const [missing] = poolsWithoutConfig(manifests);
    const isSome = manifests.osConfigs.length > 0;
    if (config.layering.mode === 'on' && isSome && missing !== undefined) {
      const what = `layering.mode is on, and no MachineOSConfig among the manifests is for pool ${missing}`;
      throw layeringFailure('layering.pool-without-os-config', what);
    }
    return requestOf(found, { config, version: bootstrap.openshiftVersion });
  },
});

/**
 * The request in the manifests and the settings.
 * @throws AgentError `layering.nothing-to-build`, `layering.release-too-old`,
 * `layering.needs-disk`, `config.incomplete`
 */
function requestOf(
  { toBuild, builtBefore }: BuildRequests,
  { config, version }: { readonly config: Config; readonly version: string | undefined },
): BuildRequest {
  const isAskedFor = config.layering.mode === 'on';
  if (toBuild.length === 0) {
    const why =
      builtBefore.length === 0
        ? 'no manifest holds a MachineOSConfig'
        : `the OS image of ${builtBefore.join(' and ')} was built before`;
    if (isAskedFor) throw layeringFailure('layering.nothing-to-build', why);
    return { kind: 'off', why };
  }
  if (version === undefined) throw noVersion('a MachineOSConfig among the manifests');
  const { kind, why } = layeringSupport(version);
  if (kind === 'none') {
    if (isAskedFor) throw layeringFailure('layering.release-too-old', why);
    return { kind: 'off', why };
  }
  if (isActive(usesExistingRoot, config)) {
    throw layeringFailure(
      'layering.needs-disk',
      'there is a MachineOSConfig, and image.existingRoot is set',
    );
  }
  return { kind: kind === 'build' ? 'on' : kind, pools: toBuild.map(poolRequest), why };
}

const poolRequest = ({ config, object, pushSecret, baseSecret }: BuildableConfig): PoolRequest => ({
  pool: config.name,
  object,
  config,
  pushSecret: asideSecret(pushSecret),
  baseSecret: baseSecret && asideSecret(baseSecret),
  repository: repositoryOf(config.spec.renderedImagePushSpec),
});

const { osConfigs, secrets } = asideFolders;

/**
 * Path of the manifest of a MachineOSConfig outside of the folders that the bootstrap controllers
 * read.
 */
const asidePath = (pool: string): string => `${osConfigs}/${pool}.yaml`;

/** Path of the copy of a Secret, the only object in its file. */
const asideSecret = (name: string): string => `${secrets}/${name}.yaml`;

/** Creates the folders of the set-aside manifests; one has credentials. */
const asideFoldersArgv = [
  ...['install', '--directory', '--mode', '0700', dirname(osConfigs), osConfigs, secrets],
] as const;

/**
 * Moves the MachineOSConfigs out of the manifests: the bootstrap controller of 4.21 and newer
 * refuses one without an image, and with it all MachineConfigs; a cluster of an older release would
 * start to build by itself. The Secrets that they name stay, and are copied.
 */
export const setAsideOsConfigs = step({
  id: 'layering/stash-os-configs',
  title: 'Set the MachineOSConfigs aside until their images are built',
  uses: ['host'],
  needs: { request: BuildRequest },
  when: buildsOsImages,
  skipIf: ({ request }) => (request.kind === 'off' ? request.why : undefined),
  limit: minutes(5),
  preview: () => [asideFoldersArgv],
  run: async (scope, { request }) => {
    if (request.kind === 'off') return;
    const { host, signal } = scope;
    await host.exec(asideFoldersArgv, { signal, limit: minutes(2) });
    for (const { pool, pushSecret, baseSecret } of request.pools) {
      for (const path of [pushSecret, baseSecret])
        if (path !== undefined) await copyManifest(scope, path, isSecretFor(path));
      const isWanted = isOsConfigOf(pool);
      // The copy is written before the removal, so that the object always exists in at least one
      // place.
      const file = await copyManifest(scope, asidePath(pool), isWanted);
      if (file === undefined) continue;
      const rest = withoutDocuments(file, isWanted);
      if (rest === '') await host.remove(file.path, signal);
      else await host.writeFile(file.path, rest, { signal, mode: 0o600 });
    }
  },
});

const isSecretFor =
  (path: string) =>
  ({ value }: SourceObject): boolean =>
    asideSecret(registrySecretOf(value)?.name ?? '') === path;

/**
 * Copies an object of the manifests to a path of its own; returns its file, or undefined if an
 * earlier run has moved it already.
 * @throws AgentError `layering.not-stashed`
 */
async function copyManifest(
  scope: StepScope<'host'>,
  to: string,
  isWanted: (object: SourceObject) => boolean,
): Promise<SourceFile | undefined> {
  const { host, signal } = scope;
  for (const file of await readManifestFiles(scope)) {
    const found = readableDocuments(file).find(({ object }) => isWanted(object));
    if (found === undefined) continue;
    await host.writeFile(to, found.text, { signal, mode: 0o600 });
    return file;
  }
  if ((await host.readText(to, signal)) !== undefined) return undefined;
  throw layeringFailure('layering.not-stashed', `neither ${to} nor its manifest exists`);
}

/**
 * Refuses a configuration in which the control plane renders nothing: a MachineOSConfig without an
 * image is an error of the bootstrap controller of 4.21 and newer, and there is no other host to
 * block until an image exists. An older release leaves it to the cluster, which builds the image
 * once the node runs.
 */
export const checkSingleNode = step({
  id: 'layering/check-single-node',
  title: 'Check that no MachineOSConfig blocks the only node',
  uses: ['host'],
  needs: { bootstrap: BootstrapIgnition },
  when: looksForOsConfigs,
  limit: minutes(5),
  run: async (scope, { bootstrap: { openshiftVersion } }) => {
    const { osConfigs } = readOsManifests(await readManifestFiles(scope));
    const unbuilt = osConfigs.filter(({ object }) => !isBuiltBefore(object));
    const [first] = unbuilt.map(({ path, object }) => `${namesOf(object.value).name} in ${path}`);
    if (scope.config.layering.mode !== 'on') {
      if (first === undefined) return;
      if (openshiftVersion === undefined) throw noVersion(`MachineOSConfig ${first}`);
      if (layeringSupport(openshiftVersion).kind !== 'build') return;
    }
    const asked = first === undefined ? 'layering.mode is on' : `there is MachineOSConfig ${first}`;
    const why =
      'the bootstrap controller of a single node takes only an image that was built before';
    throw layeringFailure('layering.single-node', `${asked}, and ${why}`);
  },
});
