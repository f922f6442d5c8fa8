import { createHash, randomUUID } from 'node:crypto';
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
  installConfigOverrides: '',
  logsState: '',
  ...fields,
});

/** A host of that cluster whose install command was just given out; its id decides its addresses. */
export function hostSeed(
  fields: Pick<HostRecord, 'clusterId' | 'infraEnvId' | 'hostname' | 'role'> & Partial<HostRecord>,
): HostRecord {
  const { id = randomUUID() } = fields;
  return {
    id,
    isBootstrap: false,
    addresses: addressesOf(id),
    status: 'installing',
    statusInfo: 'Installation is in progress',
    stage: '',
    stageInfo: '',
    stageStartedAt: 0,
    stageUpdatedAt: 0,
    logsState: '',
    logBytes: 0,
    ...fields,
  };
}

function addressesOf(id: string): readonly string[] {
  const [a = 0, b = 0, c = 0] = createHash('sha256').update(id).digest();
  const last = 1 + (c % 254);
  return [
    `10.${a}.${b}.${last}/8`,
    `fd00::${a.toString(16)}:${b.toString(16)}:${last.toString(16)}/64`,
  ];
}
