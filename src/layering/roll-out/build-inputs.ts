import { AgentError } from '../../model/failure.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { buildName } from '../api/build-name.ts';
import { type MachineConfig, readMachineConfig } from '../api/machine-config.ts';
import { meantIgnition } from '../api/meaning.ts';
import { readMachineConfigPool } from '../api/machine-config-pool.ts';
import { machineOSBuildObject } from '../api/os-build.ts';
import type { MachineOSConfig } from '../api/os-config.ts';
import { imagesOfMachineConfig } from '../api/os-images.ts';
import { type Fields, fieldsOf } from '../api/schema.ts';
import { builtFrom, planBuild } from '../build/build-plan.ts';
import { buildableOSConfig } from '../build/lint.ts';
import { lineless, type SourceObject } from '../api/source-object.ts';

/** The objects that an image is built from. */
export interface BuildObjects {
  readonly machineConfigPool: KubeObject;
  readonly osConfig: KubeObject;
  /** The rendered MachineConfig of the pool. */
  readonly machineConfig: KubeObject;
}

/** The MachineOSBuild that a pool is to have, or why it can have none. */
export type PlannedBuild = { readonly build: KubeObject } | { readonly reason: string };

/** The MachineOSBuild of these objects, by the name that the operator gives it. */
export function plannedBuild(objects: BuildObjects): PlannedBuild {
  const { machineConfigPool, osConfig, machineConfig } = objects;
  try {
    const { config } = buildableOSConfig(sourceOf(osConfig, 'MachineOSConfig'));
    const rendered = readMachineConfig(sourceOf(machineConfig, 'MachineConfig'));
    const pool = readMachineConfigPool(sourceOf(machineConfigPool, 'MachineConfigPool'));
    // The operator names nothing without a release; there is none where no release rendered the MachineConfig.
    const releaseVersion = rendered.releaseVersion || 'none';
    const images = imagesOfMachineConfig({ ...rendered, releaseVersion });
    const name = buildName({ config, pool, images });
    const sum = imageInputs(config, rendered);
    const build = machineOSBuildObject(config, {
      ...{ name, renderedConfig: rendered.name, builtFrom: sum },
    });
    return { build: { ...build } };
  } catch (error) {
    if (error instanceof AgentError) return { reason: error.message };
    throw error;
  }
}

/** What a person has written of an object; those of a list come without their kind. */
const sourceOf = ({ metadata, spec }: KubeObject, kind: string): SourceObject => {
  const { name, annotations = {} } = metadata;
  const apiVersion = 'machineconfiguration.openshift.io/v1';
  const written = { apiVersion, kind, metadata: { name, annotations }, spec };
  return lineless(written as object as Fields, `${kind} ${name}`);
};

/**
 * A sum over all that goes into an image: the base, the packages, the Containerfile, and the Ignition config. The name of
 * the rendered MachineConfig does not count, nor what nodes are given beside an image: kernel arguments, keys and passwords.
 */
export function imageInputs(config: MachineOSConfig, machineConfig: MachineConfig): string {
  const { pool, object } = machineConfig;
  const part: MachineConfig = {
    ...machineConfig,
    name: `rendered-${pool}`,
    object: {
      config: meantIgnition({ ...fieldsOf(fieldsOf(object['spec'])['config']), passwd: {} }),
    },
  };
  return builtFrom(planBuild({ config, machineConfig: part }), part);
}
