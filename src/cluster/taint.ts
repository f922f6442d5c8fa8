import * as z from 'zod';
import type { InventoryCluster } from '../ports/inventory.ts';
import type { KubeObject, KubePatch } from '../ports/kube.ts';
import { agentBased, type InstallConfig } from './install-config.ts';
import { taintsOf } from './node.ts';
import { isAtLeast, releaseVersion, type ReleaseVersion } from './release-version.ts';

/** Taint of a node that waits for the cloud's controller, which needs credentials to take it off. */
export const cloudTaint = 'node.cloudprovider.kubernetes.io/uninitialized';

/** Platforms with such a controller; the service mostly has no credentials for them. */
const cloudPlatforms: ReadonlySet<string> = new Set(['nutanix', 'vsphere']);

/** Since this release the cloud's controller of vSphere runs early enough to do it by itself. */
const controllerSince: ReleaseVersion = [4, 15, 0];

/** What decides whether the cloud's taint is taken off nodes. */
interface TaintFacts {
  readonly platform: string;
  readonly invoker: string;
  /** Of OpenShift. One that cannot be read is taken for an old one: a taint that stays stops all. */
  readonly version: string;
  /** The vCenter can be reached with the credentials that the cluster was given. */
  readonly hasCredentials: boolean;
}

/** Whether the taint's removal depends on more than the platform. */
export const needsCredentials = ({ platform, invoker }: Pick<TaintFacts, 'platform' | 'invoker'>) =>
  platform === 'vsphere' && invoker === agentBased;

/** Whether a platform may need the taint removed at all. */
export const mayNeedUntaint = (platform: string): boolean => cloudPlatforms.has(platform);

/**
 * Whether the taint of the cloud is taken off by us (assisted-installer, `removeUninitializedTaint`):
 * on Nutanix and vSphere, unless the controller of vSphere can do it.
 */
export function removesCloudTaint(facts: TaintFacts): boolean {
  if (!mayNeedUntaint(facts.platform)) return false;
  if (!needsCredentials(facts) || !facts.hasCredentials) return true;
  const version = releaseVersion(facts.version);
  return version === undefined || !isAtLeast(version, controllerSince);
}

/** Whether a node has the taint of the cloud. */
export const hasCloudTaint = (node: KubeObject): boolean =>
  taintsOf(node).some(({ key }) => key === cloudTaint);

/**
 * Takes the first taint of the cloud off a node; undefined when it has none. A patch goes by the
 * place in the list: the test makes it fail when another writer has moved the taint meanwhile.
 */
export function untaintPatch(node: KubeObject): KubePatch | undefined {
  const taints = taintsOf(node);
  const index = taints.findIndex(({ key }) => key === cloudTaint);
  if (index < 0) return undefined;
  const path = `/spec/taints/${index}`;
  return {
    type: 'json',
    body: [
      { op: 'test', path, value: taints[index] },
      { op: 'remove', path },
    ],
  };
}

/** What the service puts where the user gave no credentials. */
const placeholders = {
  user: 'usernameplaceholder',
  password: 'passwordplaceholder',
  server: 'vcenterplaceholder',
} as const;

type Field = keyof typeof placeholders;

const fields = Object.keys(placeholders) as readonly Field[];

const text = z.string().catch('');

const Overrides = z.object({
  platform: z.object({
    vsphere: z.object({
      vcenters: z.array(z.object({ user: text, password: text, server: text })),
    }),
  }),
});

const isReal = (field: Field, value: string): boolean =>
  value !== '' && value !== placeholders[field];

/**
 * Whether the user gave credentials of the vCenter, by the overrides that the service keeps. Those
 * of old install-configs, straight below `vsphere`, do not count.
 */
export function serviceHasCredentials(cluster: InventoryCluster): boolean {
  if (cluster.platformType !== 'vsphere') return false;
  const overrides = Overrides.safeParse(parsed(cluster.installConfigOverrides ?? ''));
  const vcenter = overrides.data?.platform.vsphere.vcenters[0];
  return vcenter !== undefined && fields.every((field) => isReal(field, vcenter[field]));
}

/**
 * The same by the install-config of the cluster, for when the service does not answer. User and
 * password are taken out of it, so the server alone decides.
 */
export const clusterHasCredentials = ({ vcenterServer = '' }: InstallConfig): boolean =>
  isReal('server', vcenterServer);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
