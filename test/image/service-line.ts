import { hostSeed, clusterSeed } from '../../mocks/inventory/records.ts';
import { type InventoryServer, startInventory } from '../../mocks/inventory/server.ts';
import { tokenIssuer } from '../../mocks/inventory/auth.ts';
import type { Fault } from '../../mocks/http/fault.ts';
import { installArguments } from '../../mocks/lab/agent.ts';
import { LabHost } from '../../mocks/lab/scenario.ts';

/** What the discovery agent puts before the image (assisted-service, 2026), in its order. */
export const runWords = [
  ...['podman', 'run', '--privileged', '--pid=host', '--net=host', '--name=assisted-installer'],
  ...['-v', '/dev:/dev:rw', '-v', '/opt:/opt:rw', '-v', '/var/log:/var/log:rw'],
  ...['-v', '/run/systemd/journal/socket:/run/systemd/journal/socket'],
  ...['-v', '/etc/pki:/etc/pki', '-v', '/tmp:/tmp', '--env=PULL_SECRET_TOKEN'],
] as const;

/** A service that gave one host its install command. */
export interface ServiceLine extends AsyncDisposable {
  readonly inventory: InventoryServer;
  readonly hostId: string;
  readonly token: string;
  /** The whole command, for a shell. */
  readonly line: string;
}

/** Starts the service and lets it give out the command for a master whose disk is not there. */
export async function commandForLostDisk(
  image: string,
  faults: readonly Fault[] = [],
): Promise<ServiceLine> {
  const issuer = tokenIssuer();
  const cluster = clusterSeed();
  const ids = { clusterId: cluster.id, infraEnvId: crypto.randomUUID() };
  const record = hostSeed({ ...ids, hostname: 'm1', role: 'master' });
  const inventory = await startInventory({ cluster, hosts: [record], auth: issuer.auth, faults });
  const words = installArguments({
    host: LabHost.parse({ name: 'm1', role: 'master' }),
    hostId: record.id,
    infraEnvId: record.infraEnvId,
    cluster,
    serviceUrl: inventory.url,
    bootDevice: '/dev/disk/by-id/wwn-0x5000c500a1b2c3d4',
  });
  return {
    inventory,
    hostId: record.id,
    token: issuer.issue({ infra_env_id: record.infraEnvId }),
    line: [...runWords, image, ...words].map(quoted).join(' '),
    [Symbol.asyncDispose]: inventory.close,
  };
}

const quoted = (word: string): string => `'${word.replaceAll("'", `'\\''`)}'`;
