// The machine-config-server's output for a rendered MachineConfig, and a machine's reading of it.
import { z } from 'zod';
import type { KubeObject } from '../../src/ports/kube.ts';
import { bytesOf } from '../host/commands/machine-config-daemon.ts';
import { fileOf } from './objects.ts';

const group = 'machineconfiguration.openshift.io';
const annotationsPath = '/etc/machine-config-daemon/node-annotations.json';
const encapsulatedPath = '/etc/ignition-machine-config-encapsulated.json';

const MachineConfig = z.object({
  metadata: z.object({
    name: z.string(),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
  spec: z.object({
    osImageURL: z.string(),
    config: z.object({
      storage: z.object({ files: z.array(z.unknown()) }),
      passwd: z.unknown().optional(),
    }),
  }),
});

/** Content that is served to a pool. */
interface Served {
  readonly machineConfig: KubeObject;
  /** Image of the pool in both annotations; undefined for a pool that is not layered. */
  readonly image: string | undefined;
}

/**
 * The Ignition of a pool (machine-config-operator, `pkg/server`, as seen on 4.23): the files of the
 * MachineConfig, the annotations of the node, and the MachineConfig itself for the first boot.
 */
export function servedIgnition({ machineConfig, image }: Served): string {
  const { metadata, spec } = MachineConfig.parse(machineConfig);
  const annotations = {
    [`${group}/currentConfig`]: metadata.name,
    ...(image === undefined ? {} : { [`${group}/currentImage`]: image }),
    [`${group}/desiredConfig`]: metadata.name,
    ...(image === undefined ? {} : { [`${group}/desiredImage`]: image }),
    [`${group}/firstPivotConfig`]: metadata.name,
    [`${group}/state`]: 'Done',
  };
  const encapsulated = {
    ...machineConfig,
    spec: {
      ...(machineConfig['spec'] as object),
      osImageURL: image ?? spec.osImageURL,
      config: { ignition: { version: '3.5.0' } },
    },
  };
  return JSON.stringify({
    ignition: { version: '3.4.0' },
    storage: {
      files: [
        ...spec.config.storage.files,
        fileOf(annotationsPath, JSON.stringify(annotations)),
        fileOf(encapsulatedPath, JSON.stringify(encapsulated)),
      ],
    },
    passwd: spec.config.passwd,
  });
}

/** Values of its Ignition that a machine uses at its first boot. */
export interface FirstBootConfig {
  /** Name of the rendered MachineConfig. */
  readonly rendered: string;
  /** The image after the first boot. */
  readonly osImage: string;
  readonly kernelArguments: readonly string[];
  readonly currentImage: string | undefined;
  readonly desiredImage: string | undefined;
  /** Credentials of the machine's pulls. */
  readonly pullSecret: string;
}

const Encapsulated = z.object({
  metadata: z.object({ name: z.string() }),
  spec: z.object({ osImageURL: z.string(), kernelArguments: z.array(z.string()).default([]) }),
});

const Config = z.object({
  storage: z.object({
    files: z.array(z.object({ path: z.string(), contents: z.object({ source: z.string() }) })),
  }),
});

/** Reads an Ignition that a machine-config-server has served, possibly with changes. */
export function readFirstBootConfig(text: string): FirstBootConfig {
  const { storage } = Config.parse(JSON.parse(text));
  const textAt = (path: string): string =>
    textOfSource(storage.files.findLast((file) => file.path === path)?.contents.source ?? 'data:,');
  const { metadata, spec } = Encapsulated.parse(JSON.parse(textAt(encapsulatedPath)));
  const annotations = JSON.parse(textAt(annotationsPath)) as Readonly<Record<string, string>>;
  return {
    rendered: metadata.name,
    osImage: spec.osImageURL,
    kernelArguments: spec.kernelArguments,
    currentImage: annotations[`${group}/currentImage`],
    desiredImage: annotations[`${group}/desiredImage`],
    pullSecret: textAt('/var/lib/kubelet/config.json'),
  };
}

/** The text of a data URL. */
const textOfSource = (source: string): string => bytesOf({ source, compression: '' }).toString();

const Pointer = z.object({
  ignition: z.object({
    config: z.object({ merge: z.array(z.object({ source: z.string() })).min(1) }),
  }),
});

/** Target of the Ignition on a disk: the config itself, or the path at a machine-config-server. */
export function readPointerOnDisk(
  text: string,
):
  | { readonly kind: 'embedded'; readonly config: string }
  | { readonly kind: 'served'; readonly pool: string } {
  const [first] = Pointer.parse(JSON.parse(text)).ignition.config.merge;
  const { source } = first ?? { source: '' };
  if (source.startsWith('data:')) return { kind: 'embedded', config: textOfSource(source) };
  return { kind: 'served', pool: new URL(source).pathname.replace(/^.*\//, '') };
}
