import { withTag } from '../../lib/image-name.ts';
import { wholeSeconds } from '../../model/duration.ts';
import type { MachineOSConfig } from './os-config.ts';

const prefix = 'machineconfiguration.openshift.io';

const machineOSBuildKind = { kind: 'MachineOSBuild', apiVersion: `${prefix}/v1` } as const;

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
 */
export function machineOSBuildObject(
  config: MachineOSConfig,
  { name, renderedConfig }: { readonly name: string; readonly renderedConfig: string },
): MachineOSBuildObject {
  const { spec } = config;
  return {
    apiVersion: machineOSBuildKind.apiVersion,
    kind: machineOSBuildKind.kind,
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

/** Metadata of a build that is owned by its MachineOSConfig. */
export interface BuildOwnership {
  readonly ownerReferences: readonly object[];
  readonly finalizers: readonly string[];
}

/** What makes a MachineOSConfig the owner of its build, so that both are deleted together. */
export const buildOwnership = (config: {
  readonly name: string;
  readonly uid: string;
}): BuildOwnership => ({
  ownerReferences: [
    {
      apiVersion: machineOSBuildKind.apiVersion,
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

/** The phase of a build. */
export type BuildPhase =
  'initial' | 'queued' | 'running' | 'succeeded' | 'failed' | 'interrupted' | 'seeded';

/**
 * What the operator writes in each phase (`pkg/apihelpers`), and for an image that was built
 * elsewhere.
 */
const phases: Readonly<
  Record<
    BuildPhase,
    {
      /** The condition that is true. */
      readonly type?: (typeof buildConditions)[number];
      readonly reason: string;
      readonly message: string;
    }
  >
> = {
  initial: { reason: 'Initialized', message: 'Not started' },
  queued: { type: 'Prepared', reason: 'Prepared', message: 'Build Prepared and Pending' },
  running: { type: 'Building', reason: 'Building', message: 'Image Build In Progress' },
  succeeded: { type: 'Succeeded', reason: 'Ready', message: 'Build Ready' },
  failed: { type: 'Failed', reason: 'Failed', message: 'Build Failed' },
  interrupted: { type: 'Interrupted', reason: 'Interrupted', message: 'Build Interrupted' },
  seeded: {
    type: 'Succeeded',
    reason: 'PreBuiltImageSeeded',
    message: 'Built before the cluster was up',
  },
};

/** A condition as the API has it. */
export interface BuildCondition {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason: string;
  readonly message: string;
  readonly lastTransitionTime: string;
}

/**
 * The five conditions of a phase. Those of a finished build cannot be changed any more.
 * @param why what a person should know beyond the words of the operator
 */
export function conditionsOf(phase: BuildPhase, at: Date, why = ''): readonly BuildCondition[] {
  const { type: held, reason, message } = phases[phase];
  return buildConditions.map((type) => ({
    type,
    status: type === held ? 'True' : 'False',
    reason,
    message: why === '' ? message : `${message}: ${why}`,
    lastTransitionTime: wholeSeconds(at.getTime()),
  }));
}

/** Status of a MachineOSBuild whose image was built elsewhere. */
export interface SeededBuildStatus {
  readonly buildStart: string;
  readonly buildEnd: string;
  readonly digestedImagePushSpec: string;
  readonly conditions: readonly BuildCondition[];
}

/** A finished build. */
export interface FinishedBuild {
  readonly startedAt: Date;
  readonly endedAt: Date;
  /** The image by its digest. */
  readonly image: string;
}

const SECOND = 1000;

/** The status that hands an image over. */
export function seededBuildStatus({ image, ...times }: FinishedBuild): SeededBuildStatus {
  const { end, ...status } = buildTimes(times);
  return { ...status, digestedImagePushSpec: image, conditions: conditionsOf('seeded', end) };
}

/** When a build began and ended. The end is at least a second after the start: the API insists. */
function buildTimes({ startedAt, endedAt }: Omit<FinishedBuild, 'image'>): {
  readonly buildStart: string;
  readonly buildEnd: string;
  readonly end: Date;
} {
  const start = Math.floor(startedAt.getTime() / SECOND) * SECOND;
  const end = new Date(Math.max(Math.floor(endedAt.getTime() / SECOND) * SECOND, start + SECOND));
  return { buildStart: wholeSeconds(start), buildEnd: wholeSeconds(end.getTime()), end };
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
