import { withTag } from '../../lib/image-name.ts';
import { wholeSeconds } from '../../model/duration.ts';
import type { MachineOSConfig } from './os-config.ts';

const prefix = 'machineconfiguration.openshift.io';

/** Keys of labels and annotations of a build. */
export const buildKeys = {
  /** On a MachineOSConfig: the name of its build. */
  currentBuild: `${prefix}/current-machine-os-build`,
  /** On a MachineOSConfig: request to delete the build and to build again. */
  rebuild: `${prefix}/rebuild`,
  /** On a build: the cluster's builder starts no Job for it. */
  preBuiltImage: `${prefix}/pre-built-image`,
  pushSecret: `${prefix}/rendered-image-push-secret`,
  pool: `${prefix}/target-machine-config-pool`,
  renderedConfig: `${prefix}/rendered-machine-config`,
  osConfig: `${prefix}/machine-os-config`,
} as const;

/** A MachineOSBuild as sent in the create request; a second request writes its status. */
export interface MachineOSBuildObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels: Readonly<Record<string, string>>;
    readonly annotations: Readonly<Record<string, string>>;
  };
  readonly spec: {
    readonly machineConfig: { readonly name: string };
    readonly machineOSConfig: { readonly name: string };
    readonly renderedImagePushSpec: string;
  };
}

/**
 * A MachineOSBuild of an image that was built elsewhere. The labels are in the create request,
 * because the cluster's builder acts on the object as created. The tag of the push spec is the name
 * of the build.
 * @param name result of `buildName`
 * @param renderedConfig name of the rendered MachineConfig
 */
export function machineOSBuildObject(
  config: MachineOSConfig,
  name: string,
  renderedConfig: string,
): MachineOSBuildObject {
  const { spec } = config;
  return {
    apiVersion: `${prefix}/v1`,
    kind: 'MachineOSBuild',
    metadata: {
      name,
      labels: {
        [buildKeys.pool]: spec.machineConfigPool.name,
        [buildKeys.renderedConfig]: renderedConfig,
        [buildKeys.osConfig]: config.name,
        [buildKeys.preBuiltImage]: 'true',
      },
      annotations: { [buildKeys.pushSecret]: spec.renderedImagePushSecret.name },
    },
    spec: {
      machineConfig: { name: renderedConfig },
      machineOSConfig: { name: config.name },
      renderedImagePushSpec: withTag(spec.renderedImagePushSpec, name),
    },
  };
}

/**
 * Metadata that make a MachineOSConfig the owner of its build, so that both are deleted together.
 */
export const buildOwnership = (config: {
  readonly name: string;
  readonly uid: string;
}): { readonly ownerReferences: readonly object[]; readonly finalizers: readonly string[] } => ({
  ownerReferences: [
    {
      apiVersion: `${prefix}/v1`,
      kind: 'MachineOSConfig',
      name: config.name,
      uid: config.uid,
      controller: true,
      blockOwnerDeletion: true,
    },
  ],
  finalizers: ['foregroundDeletion'],
});

/** Types of the conditions of a MachineOSBuild; a status always has all five. */
export const buildConditions = [
  'Prepared',
  'Building',
  'Failed',
  'Interrupted',
  'Succeeded',
] as const;

const second = 1000;

/**
 * The status that hands an image over. The end is at least a second after the start: the API server
 * requires it.
 * @param image pull spec by digest
 */
export function seededBuildStatus(image: string, startedAt: Date, endedAt: Date) {
  const start = Math.floor(startedAt.getTime() / second) * second;
  const end = Math.max(Math.floor(endedAt.getTime() / second) * second, start + second);
  const buildEnd = wholeSeconds(end);
  return {
    buildStart: wholeSeconds(start),
    buildEnd,
    digestedImagePushSpec: image,
    conditions: buildConditions.map((type) => ({
      type,
      status: type === 'Succeeded' ? 'True' : 'False',
      reason: 'PreBuiltImageSeeded',
      message: 'Built before the cluster was up',
      lastTransitionTime: buildEnd,
    })),
  };
}

/**
 * Status of a MachineOSConfig whose image was handed over. No other program writes it, and without
 * it the pool waits forever.
 */
export const handedOverStatus = (build: {
  readonly name: string;
  readonly image: string;
  /** `metadata.generation` of the MachineOSConfig. */
  readonly generation: number;
}): object => ({
  currentImagePullSpec: build.image,
  observedGeneration: build.generation,
  machineOSBuild: {
    group: 'machineconfiguration.openshift.io',
    resource: 'machineosbuilds',
    name: build.name,
  },
});
