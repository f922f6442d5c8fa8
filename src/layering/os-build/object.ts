import { withTag } from '../../lib/image-name.ts';
import type { MachineOSConfig } from '../os-config/types.ts';
import { machineOSBuildKind } from './schema.ts';

const prefix = 'machineconfiguration.openshift.io';

/** Names of labels and annotations around a build. */
export const buildKeys = {
  /** On a MachineOSConfig: the name of its build. */
  currentBuild: `${prefix}/current-machine-os-build`,
  /** On a MachineOSConfig: throw the build away and build anew. */
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
 * The MachineOSBuild of an image that was built elsewhere. The labels are in the create request, since the
 * cluster's builder acts on the object as it was created; the push spec has the build's name for its tag.
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

/** Metadata by which a build belongs to its MachineOSConfig. */
export interface BuildOwnership {
  readonly ownerReferences: readonly object[];
  readonly finalizers: readonly string[];
}

/** What ties a build to its MachineOSConfig, so that the one goes with the other. */
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
