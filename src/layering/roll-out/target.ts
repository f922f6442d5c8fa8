import type { KubeObject } from '../../ports/kube.ts';
import { conditionOf, textAt, ownersOf } from '../../kube/object.ts';
import { renderedNameOf } from '../api/machine-config-pool.ts';
import { currentBuild, type PoolSnapshot } from '../hand-over/invariants.ts';
import { imageOf } from './image-origin.ts';

/** The desired configuration and image of a pool's nodes. */
export interface RollOutTarget {
  /** Name of the rendered MachineConfig. */
  readonly config: string;
  /** By digest; undefined for a pool that is not layered. */
  readonly image?: string | undefined;
}

/** The target of a pool, or the condition that it waits for. */
export type TargetStatus = { readonly target: RollOutTarget } | { readonly waitsFor: string };

const configOf = (build: KubeObject | undefined): string =>
  textAt(build, 'spec', 'machineConfig', 'name');

const hasSucceeded = (build: KubeObject): boolean =>
  conditionOf(build, 'Succeeded').status === 'True' && imageOf(build) !== '';

/**
 * The target of a pool, by the gate of the Machine Config Operator (`pkg/controller/node`): a
 * layered pool waits until its build has succeeded with the rendered MachineConfig of the pool and
 * the image of its MachineOSConfig.
 */
export function rollOutTarget(
  snapshot: Pick<PoolSnapshot, 'machineConfigPool' | 'osConfig' | 'builds'>,
): TargetStatus {
  const { machineConfigPool, osConfig } = snapshot;
  const config = renderedNameOf(machineConfigPool);
  if (config === '') return { waitsFor: 'a rendered MachineConfig of the pool' };
  if (osConfig === undefined) return { target: { config, image: undefined } };
  const build = currentBuild(snapshot);
  if (build === undefined) return { waitsFor: 'a MachineOSBuild' };
  const { name } = build.metadata;
  if (!hasSucceeded(build)) return { waitsFor: `MachineOSBuild ${name} to succeed` };
  if (configOf(build) !== config) return { waitsFor: `a MachineOSBuild of ${config}` };
  const image = textAt(osConfig, 'status', 'currentImagePullSpec');
  if (image !== imageOf(build)) {
    return { waitsFor: `MachineOSConfig ${osConfig.metadata.name} to name the image of ${name}` };
  }
  return { target: { config, image } };
}

/**
 * The reason why the pool of a node cannot have set its target, now or before; undefined where it
 * can.
 * @param config the MachineConfig of the target
 */
export function foreignReason(
  target: RollOutTarget,
  {
    pool,
    config,
    builds,
  }: {
    readonly pool: KubeObject | undefined;
    readonly config: KubeObject;
    readonly builds: readonly KubeObject[];
  },
): string | undefined {
  if (pool === undefined) return 'the node is in no pool';
  const { name } = pool.metadata;
  const isOwned = ownersOf(config).some(
    (owner) => owner['kind'] === 'MachineConfigPool' && owner['name'] === name,
  );
  if (!isOwned && renderedNameOf(pool) !== target.config)
    return `MachineConfig ${target.config} does not belong to pool ${name}`;
  const isBuilt = builds.some(
    (build) =>
      textAt(build, 'spec', 'machineOSConfig', 'name') === name &&
      configOf(build) === target.config &&
      hasSucceeded(build) &&
      imageOf(build) === target.image,
  );
  if (target.image === undefined || isBuilt) return undefined;
  return `no MachineOSBuild of pool ${name} and ${target.config} has the image ${target.image}`;
}
