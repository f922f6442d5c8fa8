import type { Config } from '../../config/schema.ts';
import { minutes } from '../../model/duration.ts';
import {
  type BuildableConfig,
  ordersIn,
  type OsOrders,
} from '../../layering/manifests/check-manifests.ts';
import { readOsManifests } from '../../layering/manifests/bootstrap-manifests.ts';
import { deliveryOf } from '../../layering/manifests/delivery.ts';
import { repositoryOf } from '../../lib/image-name.ts';
import { isActive } from '../../engine/condition.ts';
import { usesExistingRoot } from '../conditions.ts';
import { step } from '../step.ts';
import { looksForOsConfigs } from './conditions.ts';
import { OsImageOrder, type PoolOrder } from './facts.ts';
import { layeringStepFailure } from './failures.ts';
import { readManifestFiles } from './manifest-files.ts';
import { stashedPath, stashedSecret } from './stash-os-configs.ts';

/**
 * Finds out whether operating systems are to be built, and for which pools. Whatever would fail after the masters
 * have been held back is refused here.
 */
export const readOsConfigs = step({
  id: 'layering/read-os-configs',
  title: 'Look for MachineOSConfigs among the manifests',
  uses: ['host'],
  gives: OsImageOrder,
  when: looksForOsConfigs,
  limit: minutes(5),
  explain: ({ cluster }) => deliveryOf(cluster.openshiftVersion).why,
  run: async (scope) => {
    const { config, note } = scope;
    const orders = ordersIn(readOsManifests(await readManifestFiles(scope)));
    for (const warning of orders.warnings) note('warn', warning);
    return orderOf(orders, config);
  },
});

/**
 * The order that the manifests and the settings make together.
 * @throws AgentError `layering.nothing-to-build`, `layering.release-too-old`, `layering.needs-disk`
 */
export function orderOf({ toBuild, builtBefore }: OsOrders, config: Config): OsImageOrder {
  const isAskedFor = config.layering.mode === 'on';
  if (toBuild.length === 0) {
    const why =
      builtBefore.length === 0
        ? 'no manifest holds a MachineOSConfig'
        : `the image of ${builtBefore.join(' and ')} was built before`;
    if (isAskedFor) throw layeringStepFailure('layering.nothing-to-build', why);
    return { kind: 'off', why };
  }
  const { kind, why } = deliveryOf(config.cluster.openshiftVersion);
  if (kind === 'none') {
    if (isAskedFor) throw layeringStepFailure('layering.release-too-old', why);
    return { kind: 'off', why };
  }
  if (isActive(usesExistingRoot, config)) {
    throw layeringStepFailure(
      'layering.needs-disk',
      'there is a MachineOSConfig, and the system goes into the running root',
    );
  }
  return { kind: 'on', pools: toBuild.map(poolOrder), delivery: kind, why };
}

const poolOrder = ({ config, pushSecret, baseSecret }: BuildableConfig): PoolOrder => ({
  pool: config.name,
  osConfig: stashedPath(config.name),
  pushSecret: stashedSecret(pushSecret),
  ...(baseSecret === undefined ? {} : { baseSecret: stashedSecret(baseSecret) }),
  repository: repositoryOf(config.spec.renderedImagePushSpec),
});
