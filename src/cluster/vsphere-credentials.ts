import * as z from 'zod';
import type { InventoryCluster } from '../ports/inventory.ts';
import type { InstallConfig } from './install-config.ts';

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
