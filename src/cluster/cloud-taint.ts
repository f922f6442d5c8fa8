import { listAt } from '../kube/object.ts';
import { fieldsOf, textOf } from '../lib/fields.ts';
import { jsonIn } from '../lib/json.ts';
import type { InventoryCluster } from '../ports/inventory.ts';
import type { KubeObject, KubePatch } from '../ports/kube.ts';
import { agentBased, type InstallConfig } from './install-config.ts';
import { taintsOf } from './node.ts';
import { isAtLeast, releaseVersion, type ReleaseVersion } from './release.ts';

/** Taint of a node that waits for the cloud controller, which needs credentials to remove it. */
export const cloudTaint = 'node.cloudprovider.kubernetes.io/uninitialized';

/** Platforms with such a controller; the service rarely has credentials for them. */
const cloudPlatforms: ReadonlySet<string> = new Set(['nutanix', 'vsphere']);

/** Since this release the vSphere controller runs early enough to remove the taint. */
const controllerSince: ReleaseVersion = [4, 15, 0];

/** Whether a platform may need the taint removed at all. */
export const mayNeedUntaint = (platform: string): boolean => cloudPlatforms.has(platform);

/**
 * Whether we remove the cloud provider taint on such a platform (assisted-installer,
 * `removeUninitializedTaint`): always, unless the vSphere controller can do it. An unreadable
 * version counts as old: a taint that stays blocks the cluster.
 * @param hasCredentials asked only where it decides: the vCenter accepts the cluster's credentials
 */
export function removesCloudTaint(
  { platform, invoker, version }: Readonly<Record<'platform' | 'invoker' | 'version', string>>,
  hasCredentials: () => boolean,
): boolean {
  if (platform !== 'vsphere' || invoker !== agentBased || !hasCredentials()) return true;
  const release = releaseVersion(version);
  return release === undefined || !isAtLeast(release, controllerSince);
}

/**
 * Removes the first cloud provider taint of a node; undefined when it has none. The patch names the
 * index of the taint: its test operation fails when another writer has changed the list meanwhile.
 */
export function untaintPatch(node: KubeObject): KubePatch | undefined {
  const taints = taintsOf(node);
  const index = taints.findIndex(({ key }) => key === cloudTaint);
  if (index < 0) return undefined;
  const path = `/spec/taints/${index}`;
  return {
    type: 'json',
    body: [
      { op: 'test', path: '/metadata/uid', value: node.metadata.uid },
      { op: 'test', path, value: taints[index] },
      { op: 'remove', path },
    ],
  };
}

/** Values that the service writes where the user gave no credentials. */
const placeholders = {
  user: 'usernameplaceholder',
  password: 'passwordplaceholder',
  server: 'vcenterplaceholder',
} as const;

const isReal = (field: keyof typeof placeholders, value: string): boolean =>
  value !== '' && value !== placeholders[field];

/**
 * Whether the user gave vCenter credentials, by the install-config overrides in the service.
 * Credentials directly below `vsphere`, as in old install-configs, do not count.
 */
export function serviceHasCredentials(cluster: InventoryCluster): boolean {
  if (cluster.platformType !== 'vsphere') return false;
  const overrides = jsonIn(cluster.installConfigOverrides ?? '') as KubeObject | undefined;
  const vcenter = fieldsOf(listAt(overrides, 'platform', 'vsphere', 'vcenters')[0]);
  return (['user', 'password', 'server'] as const).every((field) =>
    isReal(field, textOf(vcenter[field])),
  );
}

/**
 * The same by the install-config of the cluster, for when the service does not answer. It has
 * neither user nor password, so the server alone decides.
 */
export const clusterHasCredentials = ({ vcenterServer = '' }: InstallConfig): boolean =>
  isReal('server', vcenterServer);
