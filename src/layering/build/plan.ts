import { Buffer } from 'node:buffer';
import { gzipSync } from 'node:zlib';
import { layeringFailure } from '../failures.ts';
import { buildSettings, type MachineConfig } from '../machine-config.ts';
import { type MachineOSConfig, userContainerfile } from '../os-config/types.ts';
import { type ContainerfileInputs, imageLabels, renderContainerfile } from './containerfile.ts';
import { caBundleFile, containerfileFile, machineConfigFile } from './context-paths.ts';

/** A file of a build context. */
export interface ContextFile {
  /** Below the context, with slashes. */
  readonly path: string;
  readonly content: string;
}

/** All that a build needs, whatever program does it. */
export interface BuildPlan {
  readonly baseImage: string;
  /** What `podman build` is given as its context. */
  readonly context: readonly ContextFile[];
  /** Settings of the machines that the builder should go by as well: `policy.json`, `registries.conf`. */
  readonly settings: readonly ContextFile[];
  readonly labels: Readonly<Record<string, string>>;
}

/** What a build is planned from. */
export interface PlanRequest {
  readonly config: MachineOSConfig;
  readonly machineConfig: MachineConfig;
  /** PEM certificates; none when it is left out. */
  readonly caBundle?: string;
  /** Where the release keeps these outside the MachineConfig (≤ 4.21). */
  readonly images?: { readonly baseImage: string; readonly extensionsImage: string };
}

/**
 * Plans the build of a pool's image.
 * @throws AgentError `layering.pools-differ`, `layering.no-extensions-image`, `ignition.*` for settings of the
 * MachineConfig that cannot be decoded
 */
export function planBuild({
  config,
  machineConfig,
  caBundle = '',
  images,
}: PlanRequest): BuildPlan {
  const pool = config.spec.machineConfigPool.name;
  if (machineConfig.pool !== pool) {
    throw layeringFailure(
      'layering.pools-differ',
      `the MachineOSConfig is for pool ${pool}, ${machineConfig.name} is of pool ${machineConfig.pool}`,
    );
  }
  const inputs: ContainerfileInputs = {
    machineConfig,
    baseImage: images?.baseImage ?? machineConfig.osImageURL,
    extensionsImage: images?.extensionsImage ?? machineConfig.extensionsImage,
    userContent: userContainerfile(config),
  };
  return {
    baseImage: inputs.baseImage,
    context: [
      { path: containerfileFile, content: renderContainerfile(inputs) },
      { path: machineConfigFile, content: packedMachineConfig(machineConfig) },
      { path: caBundleFile, content: caBundle },
    ],
    settings: [...buildSettings(machineConfig)].map(([path, content]) => ({ path, content })),
    labels: imageLabels(inputs),
  };
}

/** The same bytes for the same object: the header of gzip holds no time. */
export function packedMachineConfig({ object }: MachineConfig): string {
  return Buffer.from(gzipSync(JSON.stringify(object), { level: 9 })).toString('base64');
}
