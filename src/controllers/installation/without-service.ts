import type { InstallingHost, Inventory } from '../../ports/inventory.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { followedOne } from '../../steps/cluster/kube-watch.ts';
import {
  type LeftHost,
  type LeftRecord,
  readRecord,
  recordRef,
} from '../../steps/cluster/left-record.ts';

// Without an inventory service the controller knows only the host in the record.

/**
 * The cluster from the record of the bootstrap host: it contains that host alone, whose node is
 * still missing. So no request of another host is approved.
 */
export const recordedInstallation = (kube: Kube): Pick<Inventory, 'follow' | 'refresh'> => ({
  follow: async (seen, signal) => {
    const records = followedOne(kube, recordRef);
    const show = (): void => {
      const record = recordIn(records.view().objects);
      const hosts = record === undefined ? [] : recordedHosts(record);
      const status = 'installing';
      seen({ cluster: { id: '', kind: 'Cluster', name: '', baseDomain: '', status, hosts } });
    };
    show();
    await records.watch(show, signal);
  },
  refresh: () => undefined,
});

/**
 * The hosts of a cluster in the record of its bootstrap host: the host itself, and the hosts that a
 * service had listed.
 */
export function recordedHosts({
  node,
  addresses,
  hosts = [],
}: LeftRecord): readonly InstallingHost[] {
  const others = hosts.filter(({ name }) => name.toLowerCase() !== node);
  return [{ name: node, addresses }, ...others].map(
    ({ name, addresses: own, stage = '' }: LeftHost) => ({
      id: name,
      name,
      addresses: own,
      stage,
      infraEnvId: '',
      role: '',
      status: 'installing',
      labels: {},
      pool: '',
    }),
  );
}

/** The record; undefined if absent or unreadable, which `controller/do-left-work` reports. */
export function recordIn([found]: readonly KubeObject[]): LeftRecord | undefined {
  try {
    return found && readRecord(found);
  } catch {
    return undefined;
  }
}
