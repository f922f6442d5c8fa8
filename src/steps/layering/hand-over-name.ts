import { configMaps, machineConfigs } from '../../cluster/kinds.ts';
import { isAtLeast, releaseVersion } from '../../cluster/release-version.ts';
import { buildName } from '../../layering/api/build-name.ts';
import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import { readMachineConfigPool } from '../../layering/api/machine-config-pool.ts';
import { type MachineConfig, readMachineConfig } from '../../layering/api/machine-config.ts';
import type { MachineOSConfig } from '../../layering/api/os-config.ts';
import {
  imagesOfMachineConfig,
  type OSImages,
  readOSImages,
} from '../../layering/api/os-images.ts';
import type { Members } from '../../layering/api/schema.ts';
import { lineless } from '../../layering/source-object.ts';
import type { KubeObject, KubeRef } from '../../ports/kube.ts';
import type { StepScope } from '../step.ts';
import { handOverFailure } from './hand-over-failures.ts';

/** Since this release the images are taken from the rendered MachineConfig (machine-config-operator, release-4.22). */
const namesImagesItself = [4, 22, 0] as const;

const imagesMap: KubeRef = {
  kind: configMaps,
  name: 'machine-config-osimageurl',
  namespace: operatorNamespace,
};

/**
 * The name that the cluster's builder would choose for the build of a pool. With any other, a pool that loses its
 * annotation is built anew.
 * @param found the MachineConfigPool of the cluster
 * @throws AgentError `layering.images-unknown`, `layering.no-name`, `layering.*` of what is read, `kube.*`
 */
export async function nameOfBuild(
  scope: StepScope<'kube'>,
  config: MachineOSConfig,
  found: KubeObject,
): Promise<string> {
  const pool = readMachineConfigPool(asSource(found));
  const { name } = pool.configuration;
  const rendered = await scope.kube.get({ kind: machineConfigs, name }, scope.signal);
  if (rendered === undefined) {
    throw handOverFailure('layering.images-unknown', `the cluster has no MachineConfig ${name}`);
  }
  const machineConfig = readMachineConfig(asSource({ ...rendered, kind: 'MachineConfig' }));
  return buildName({ config, pool, images: await imagesFor(scope, machineConfig) });
}

async function imagesFor(
  { kube, signal }: StepScope<'kube'>,
  machineConfig: MachineConfig,
): Promise<OSImages> {
  const version = releaseVersion(machineConfig.releaseVersion);
  if (version === undefined || isAtLeast(version, namesImagesItself)) {
    return imagesOfMachineConfig(machineConfig);
  }
  const found = await kube.get(imagesMap, signal);
  if (found !== undefined) return readOSImages(asSource({ ...found, kind: 'ConfigMap' }));
  throw handOverFailure(
    'layering.images-unknown',
    `there is no ConfigMap ${imagesMap.name} in ${operatorNamespace}`,
  );
}

const asSource = (object: KubeObject): ReturnType<typeof lineless> =>
  lineless(object as unknown as Members, `${object.kind ?? ''} ${object.metadata.name}`);
