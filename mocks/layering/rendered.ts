// The MachineConfigs and pools that the controllers of the Machine Config Operator render, on the bootstrap host and in
// the cluster.
import { stringify } from 'yaml';
import type { KubeObject } from '../../src/ports/kube.ts';
import { partAt, textIn } from '../cluster/layering/objects.ts';
import { renderedName } from '../cluster/objects.ts';
import { nodePullSecret } from './manifests.ts';
import {
  type BuiltPool,
  builtPools,
  type LayeredPlan,
  registrySettings,
  stockImage,
} from './plan.ts';

const group = 'machineconfiguration.openshift.io';
const apiVersion = `${group}/v1`;

/** Kernel arguments of every machine. */
export const kernelArguments = ['psi=0'];

/** What MachineConfigs, in their order, put on the machines of a pool. */
const filesIn = (objects: readonly unknown[], pool: string): readonly object[] =>
  objects
    .filter((one) => textIn(one, 'metadata', 'labels', `${group}/role`) === pool)
    .flatMap((one) => {
      const files = partAt(one, 'spec', 'config', 'storage', 'files');
      return Array.isArray(files) ? (files as readonly object[]) : [];
    });

/**
 * The rendered MachineConfig of a pool, of what the release brings and further MachineConfigs: the same on the bootstrap
 * host and in the cluster.
 */
export function renderedConfig(
  plan: LayeredPlan,
  pool: BuiltPool,
  machineConfigs: readonly unknown[] = [],
): KubeObject {
  const settings = registrySettings(plan);
  const files = [
    fileOf('/var/lib/kubelet/config.json', nodePullSecret),
    ...(settings === undefined ? [] : [fileOf('/etc/containers/registries.conf', settings)]),
    ...filesIn(machineConfigs, pool),
  ];
  return {
    apiVersion,
    kind: 'MachineConfig',
    metadata: {
      name: renderedName(pool),
      annotations: {
        [`${group}/generated-by-controller-version`]: '0123456789abcdef',
        [`${group}/release-image-version`]: plan.openshiftVersion,
      },
    },
    spec: {
      osImageURL: stockImage,
      kernelType: 'default',
      kernelArguments,
      config: { ignition: { version: '3.5.0' }, storage: { files } },
    },
  };
}

const fileOf = (path: string, text: string): object => ({
  path,
  mode: 0o644,
  overwrite: true,
  contents: { source: `data:,${encodeURIComponent(text)}` },
});

/** A pool as the release brings it, before anything is rendered. */
export const poolObject = (pool: string): KubeObject => ({
  apiVersion,
  kind: 'MachineConfigPool',
  metadata: { name: pool },
  spec: {
    machineConfigSelector: { matchLabels: { [`${group}/role`]: pool } },
    nodeSelector: { matchLabels: { [`node-role.kubernetes.io/${pool}`]: '' } },
  },
});

/** What a pool names once it is rendered. */
export const configurationOf = (pool: BuiltPool): object => ({
  name: renderedName(pool),
  source: [`00-${pool}`, `01-${pool}-kubelet`].map((name) => ({
    apiVersion,
    kind: 'MachineConfig',
    name,
  })),
});

/** The ConfigMap with the images of the release, of which builds up to 4.21 are made. */
export const imagesObject = (plan: LayeredPlan): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name: 'machine-config-osimageurl', namespace: 'openshift-machine-config-operator' },
  data: {
    baseOSContainerImage: stockImage,
    baseOSExtensionsContainerImage: '',
    osImageURL: '',
    releaseVersion: plan.openshiftVersion,
  },
});

/** Where the machine-config-server of the bootstrap host reads. */
const directory = '/etc/mcs/bootstrap';

/** Without it that server answers 500. */
export const controllerConfig = `${directory}/controller-config/machine-config-controller.yaml`;

/** The pool as the bootstrap controller leaves it. */
export const poolPath = (pool: string): string => `${directory}/machine-pools/${pool}.yaml`;

/** A rendered MachineConfig as it leaves it. */
export const renderedPath = (name: string): string => `${directory}/machine-configs/${name}.yaml`;

/** What the bootstrap controller leaves behind of the MachineConfigs it finds, as paths with texts, in its order. */
export const bootstrapRendering = (
  plan: LayeredPlan,
  machineConfigs: readonly unknown[],
): readonly (readonly [string, string])[] => [
  ...builtPools.map((pool) => {
    const configuration = configurationOf(pool);
    const { metadata, spec, ...kind } = poolObject(pool) as KubeObject & { readonly spec: object };
    const object = {
      ...kind,
      metadata,
      spec: { ...spec, configuration },
      status: { configuration },
    };
    return [poolPath(pool), stringify(object)] as const;
  }),
  ...builtPools.map((pool) => {
    const rendered = renderedConfig(plan, pool, machineConfigs);
    return [renderedPath(rendered.metadata.name), stringify(rendered)] as const;
  }),
  [controllerConfig, stringify({ apiVersion, kind: 'ControllerConfig' })],
];
