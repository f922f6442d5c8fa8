import {
  isBuiltBefore,
  namesOf,
  readOsManifests,
} from '../../layering/manifests/bootstrap-manifests.ts';
import { deliveryOf } from '../../layering/manifests/delivery.ts';
import { minutes } from '../../model/duration.ts';
import { step } from '../step.ts';
import { looksForOsConfigs } from './conditions.ts';
import { layeringStepFailure } from './failures.ts';
import { readManifestFiles } from './manifest-files.ts';

/**
 * Refuses what would end in a control plane that renders nothing: a MachineOSConfig without an image is an error of
 * the bootstrap controller of 4.21 and newer, and no other host could be held back until there is one. An older
 * release leaves it to the cluster, which builds the image once the node runs.
 */
export const checkSingleNode = step({
  id: 'layering/check-single-node',
  title: 'Check that no MachineOSConfig stops the only node',
  uses: ['host'],
  when: looksForOsConfigs,
  limit: minutes(5),
  run: async (scope) => {
    const { config } = scope;
    const { osConfigs } = readOsManifests(await readManifestFiles(scope));
    const unbuilt = osConfigs.filter(({ object }) => !isBuiltBefore(object));
    const [first] = unbuilt.map(({ path, object }) => `${namesOf(object.value).name} in ${path}`);
    const { cluster, layering } = config;
    const isFatal = deliveryOf(cluster.openshiftVersion).kind === 'first-boot';
    if (layering.mode !== 'on' && (first === undefined || !isFatal)) return;
    throw layeringStepFailure(
      'layering.single-node',
      first === undefined ? 'layering.mode is on' : `there is the MachineOSConfig ${first}`,
    );
  },
});
