import { randomUUID } from 'node:crypto';
import type { ClusterRecord, HostRecord } from './records.ts';

/** A cluster whose installation has begun; every field may be given. */
export const clusterSeed = (fields: Partial<ClusterRecord> = {}): ClusterRecord => ({
  id: randomUUID(),
  name: 'lab',
  baseDomain: 'example.test',
  kind: 'Cluster',
  status: 'installing',
  openshiftVersion: '4.20.1',
  controlPlaneCount: 3,
  platform: 'baremetal',
  logsState: '',
  ...fields,
});

/** A host of that cluster whose install command was just given out. */
export const hostSeed = (
  fields: Pick<HostRecord, 'clusterId' | 'infraEnvId' | 'hostname' | 'role'> & Partial<HostRecord>,
): HostRecord => ({
  id: randomUUID(),
  isBootstrap: false,
  addresses: [],
  status: 'installing',
  statusInfo: 'Installation is in progress',
  stage: '',
  stageInfo: '',
  stageStartedAt: 0,
  stageUpdatedAt: 0,
  logsState: '',
  logBytes: 0,
  ...fields,
});
