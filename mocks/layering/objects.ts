// Files that a person adds to the manifests of an installation to get its operating systems built.
import { stringify } from 'yaml';
import type { KubeObject } from '../../src/ports/kube.ts';
import { objectIn } from '../cluster/object-files.ts';
import { renderedName } from '../cluster/objects.ts';
import { labPullSecret } from '../registries/network.ts';
import {
  type BuiltPool,
  builtPools,
  type LayeredPlan,
  pushCredentials,
  registrySettings,
  releaseImage,
  repositoryOf,
  releaseOs,
} from './plan.ts';

/**
 * Files of the bootstrap host: a MachineOSConfig for each pool, their Secret, and the script that
 * names the release.
 */
export function layeredBootstrapFiles(plan: LayeredPlan): Readonly<Record<string, string>> {
  const auth = Buffer.from(pushAuth(plan)).toString('base64');
  const configs = builtPools.map((pool) => {
    const config = objectIn('os-config', { pool, repository: repositoryOf(plan, pool) });
    return [`/opt/openshift/openshift/99-os-${pool}.yaml`, stringify(config)] as const;
  });
  return {
    '/opt/openshift/openshift/99-push-secret.yaml': stringify(objectIn('push-secret', { auth })),
    ...Object.fromEntries(configs),
    '/usr/local/bin/release-image.sh': `RELEASE_IMAGE_DIGEST="${releaseImage}"\n`,
  };
}

/** The credentials of the Secret, for the oracle's requests. */
export const pushAuth = (plan: LayeredPlan): string =>
  JSON.stringify({
    auths: { [plan.registry]: { auth: Buffer.from(pushCredentials(plan)).toString('base64') } },
  });

// The MachineConfigs and pools that the controllers of the Machine Config Operator render, on the
// bootstrap host and in the cluster.

const group = 'machineconfiguration.openshift.io';
const apiVersion = `${group}/v1`;

/**
 * Kernel arguments that the operator gives every machine
 * (`templates/common/_base/kernel-arguments`, since 4.14).
 */
export const kernelArguments = [
  ...['systemd.unified_cgroup_hierarchy=1', 'cgroup_no_v1="all"', 'psi=0'],
];

/** The entries of one kind in MachineConfigs, in their order, for the machines of a pool. */
const allIn = (
  objects: readonly unknown[],
  pool: string,
  path: readonly string[],
): readonly object[] =>
  objects
    .filter((one) => textIn(one, 'metadata', 'labels', `${group}/role`) === pool)
    .flatMap((one) => {
      const found = partAt(one, 'spec', 'config', ...path);
      return Array.isArray(found) ? (found as readonly object[]) : [];
    });

/**
 * The rendered MachineConfig of a pool, from the release's and further MachineConfigs: the same on
 * the bootstrap host and in the cluster.
 */
export function renderedConfig(
  plan: LayeredPlan,
  pool: BuiltPool,
  machineConfigs: readonly unknown[] = [],
): KubeObject {
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
    spec: specWith(plan, {
      files: allIn(machineConfigs, pool, ['storage', 'files']),
      users: allIn(machineConfigs, pool, ['passwd', 'users']),
    }),
  };
}

/** The release's own MachineConfig for the machines of a pool. */
export const releaseConfig = (plan: LayeredPlan, pool: BuiltPool): KubeObject => ({
  apiVersion,
  kind: 'MachineConfig',
  metadata: { name: `00-${pool}`, labels: { [`${group}/role`]: pool } },
  spec: specWith(plan, { files: [], users: [] }),
});

function specWith(
  plan: LayeredPlan,
  { files: more, users }: Readonly<Record<'files' | 'users', readonly object[]>>,
): object {
  const settings = registrySettings(plan);
  const files = [
    fileOf('/var/lib/kubelet/config.json', labPullSecret),
    ...(settings === undefined ? [] : [fileOf('/etc/containers/registries.conf', settings)]),
    ...more,
  ];
  return {
    osImageURL: releaseOs,
    kernelType: 'default',
    kernelArguments,
    config: {
      ignition: { version: '3.5.0' },
      storage: { files },
      ...(users.length === 0 ? {} : { passwd: { users } }),
    },
  };
}

/** A file of a MachineConfig. */
export const fileOf = (path: string, text: string): object => ({
  path,
  mode: 0o644,
  overwrite: true,
  contents: { source: `data:,${encodeURIComponent(text)}` },
});

/** A pool of the release before rendering. */
export const poolObject = (pool: string): KubeObject => objectIn('pool', { pool });

/** The configuration of a rendered pool. */
export const configurationOf = (pool: BuiltPool): object => ({
  name: renderedName(pool),
  source: [`00-${pool}`, `01-${pool}-kubelet`].map((name) => ({
    apiVersion,
    kind: 'MachineConfig',
    name,
  })),
});

/** The ConfigMap with the images of the release, which builds up to 4.21 use. */
export const imagesObject = ({ openshiftVersion: version }: LayeredPlan): KubeObject =>
  objectIn('images', { os: releaseOs, version });

/** The folder that the bootstrap host's machine-config-server reads. */
const directory = '/etc/mcs/bootstrap';

/** Without this file that server answers 500. */
export const controllerConfig = `${directory}/controller-config/machine-config-controller.yaml`;

/** The pool as written by the bootstrap controller. */
export const poolPath = (pool: string): string => `${directory}/machine-pools/${pool}.yaml`;

/** A rendered MachineConfig as written by the bootstrap controller. */
export const renderedPath = (name: string): string => `${directory}/machine-configs/${name}.yaml`;

/** The bootstrap controller's output for its MachineConfigs, as paths with texts, in its order. */
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

// Readers of objects around layering, for the simulated cluster and its checks.

/** A member of an object, however deep; undefined if absent. */
export function partAt(object: unknown, ...path: readonly string[]): unknown {
  return path.reduce<unknown>(
    (part, key) =>
      typeof part === 'object' && part !== null
        ? (part as Readonly<Record<string, unknown>>)[key]
        : undefined,
    object,
  );
}

/** A text in an object; empty if absent. */
export function textIn(object: unknown, ...path: readonly string[]): string {
  const part = partAt(object, ...path);
  return typeof part === 'string' ? part : '';
}

/**
 * The value of a Machine Config Operator's annotation, by its name without the group; empty without
 * it.
 */
export const annotation = (object: KubeObject | undefined, name: string): string =>
  object?.metadata.annotations?.[`${group}/${name}`] ?? '';

/** The full key of a Machine Config Operator's annotation or label. */
export const keyOf = (name: string): string => `${group}/${name}`;

/** Whether a node has a role, or belongs to the pool of that name. */
export const hasRole = ({ metadata: { labels } }: KubeObject, role: string): boolean =>
  labels?.[`node-role.kubernetes.io/${role}`] !== undefined;

/** The image of a pool in the status of its MachineOSConfig. */
export const imageOf = (osConfig: KubeObject | undefined): string =>
  textIn(osConfig, 'status', 'currentImagePullSpec');

/** The status of a condition: `True`, `False`, or empty. */
export function conditionIn(object: KubeObject | undefined, type: string): string {
  const conditions = partAt(object, 'status', 'conditions');
  const found: unknown = Array.isArray(conditions)
    ? conditions.find((one: unknown) => textIn(one, 'type') === type)
    : undefined;
  return textIn(found, 'status');
}
