import type { Config } from '../config/schema.ts';
import { role } from '../engine/check.ts';
import { lanes } from '../engine/role.ts';
import type { Ports } from '../ports/ports.ts';
import { approveOwnRequests } from '../steps/after-pivot/approve-requests.ts';
import { readLeftRecord } from '../steps/after-pivot/record.ts';
import { removeRecord } from '../steps/after-pivot/manifests.ts';
import { restoreEtcd } from '../steps/cluster/etcd-override.ts';
import { rollOutImages } from '../steps/layering/roll-out-images.ts';

/** All that a pod in the cluster can reach: there is no host, and no inventory service. */
export interface ClusterWorld {
  readonly config: Config;
  readonly ports: Pick<Ports, 'kube' | 'clock' | 'random'>;
}

/** Follows the bootstrap host into its cluster, as a job there; no stage is reported. */
export const afterPivot = role<ClusterWorld>('after-pivot', {
  title: 'Follows a bootstrap host into its cluster',
  ladder: 'bootstrap',
  steps: [
    readLeftRecord,
    lanes<ClusterWorld>({
      requests: [approveOwnRequests],
      etcd: [restoreEtcd],
      images: [rollOutImages],
    }),
    removeRecord,
  ],
});
