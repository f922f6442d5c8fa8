import { withTag } from '../../lib/image-name.ts';
import { wholeSeconds } from '../../model/duration.ts';
import type { MachineOSConfig } from './os-config.ts';

const prefix = 'machineconfiguration.openshift.io';

/** Names of labels and annotations around a build. */
export const buildKeys = {
  /** On a MachineOSConfig: the name of its build. */
  currentBuild: `${prefix}/current-machine-os-build`,
  /** On a MachineOSConfig: delete the build and build again. */
  rebuild: `${prefix}/rebuild`,
  /** On a build: the builder of the cluster starts no Job for it. */
  preBuiltImage: `${prefix}/pre-built-image`,
  pushSecret: `${prefix}/rendered-image-push-secret`,
  pool: `${prefix}/target-machine-config-pool`,
  renderedConfig: `${prefix}/rendered-machine-config`,
  osConfig: `${prefix}/machine-os-config`,
} as const;

/** A MachineOSBuild as it is created; its status is written by a second request. */
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
 * since the cluster's builder acts on the object as it was created; the push spec has the build's
 * name for its tag.
 * @param name as `buildName` gives it
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

/** What makes a MachineOSConfig the owner of its build, so that both are deleted together. */
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

/** Types of the conditions of a MachineOSBuild; all five are always written together. */
export const buildConditions = [
  'Prepared',
  'Building',
  'Failed',
  'Interrupted',
  'Succeeded',
] as const;

const second = 1000;

/**
 * The status that hands an image over. The end is at least a second after the start: the API
 * insists.
 * @param image the image by its digest
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
 * Status of a MachineOSConfig that was handed over. Nobody else writes it, and without it the pool
 * waits forever.
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
