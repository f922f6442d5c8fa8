import { systemClock } from '../adapters/clock.ts';
import { dryHost } from '../adapters/host/dry-host.ts';
import { hostLookup } from '../adapters/host/host-lookup.ts';
import { nsenterHost } from '../adapters/host/nsenter-host.ts';
import type { ConnectionOptions } from '../adapters/http/connection.ts';
import type { InventoryOptions } from '../adapters/http/inventory-client.ts';
import { inventoryV1 } from '../adapters/http/inventory-v1.ts';
import { type InventoryConnection, inventoryV2 } from '../adapters/http/inventory-v2.ts';
import { proxiesIn } from '../adapters/http/proxies.ts';
import type { RetryNotice } from '../adapters/http/retry.ts';
import { authoritiesIn } from '../adapters/http/tls.ts';
import { web } from '../adapters/http/web.ts';
import type { KubeCluster } from '../adapters/kube/kube.ts';
import { onFirstUse } from '../adapters/kube/on-first-use.ts';
import { loopbackRelay } from '../adapters/image-relay/loopback-relay.ts';
import { type ObjectsOptions, s3Objects } from '../adapters/objects/s3.ts';
import { systemRandom } from '../adapters/random.ts';
import type { Config } from '../config/schema.ts';
import type { RunHappening } from '../engine/events.ts';
import { seconds } from '../model/duration.ts';
import type { Host } from '../ports/host.ts';
import type { Inventory } from '../ports/inventory.ts';
import type { Objects } from '../ports/objects.ts';
import type { Ports } from '../ports/ports.ts';

/** The ports of one run, and what ends their connections. */
export interface RunPorts {
  readonly ports: Ports;
  readonly close: () => Promise<void>;
}

/** What the adapters tell while they work. */
type Tell = (happening: RunHappening) => void;

/** One report is tried this long; then the reporter looks whether there is a newer one. */
const reportLimit = seconds(15);

/** Makes the adapters that a configuration asks for. Nothing is connected to before it is used. */
export function portsOf(
  config: Config,
  environment: Readonly<Record<string, string | undefined>>,
  tell: Tell,
): RunPorts {
  const proxies = proxiesIn(environment, config.proxy.no);
  const common = { clock: systemClock, random: systemRandom };
  const onRetry = tellRetries(tell);
  const host = hostFor(config, environment, tell);
  const pages = web({ ...common, connection: { proxies, ...lookupFor(config, host) }, onRetry });
  const inventory = inventoryFor(config, {
    ...common,
    onRetry,
    connection: { proxies, ...trustFor(config) },
  });
  const kube = kubeFor(config, { host, inventory, tell });
  return {
    ports: {
      ...common,
      host,
      inventory,
      kube,
      web: pages,
      objects: objectsFor(config, { ...common, onRetry, connection: { proxies } }),
      imageRelay: loopbackRelay({ web: pages, clock: systemClock }),
    },
    close: async () => {
      await Promise.all([inventory.close(), pages.close(), kube.close()]);
    },
  };
}

function hostFor(
  { host, dry, disk }: Config,
  environment: Readonly<Record<string, string | undefined>>,
  tell: Tell,
): Host {
  const real = nsenterHost({ root: host.root, onCommand: tell, environment });
  const world = { device: disk.device, rebootMarker: dry.rebootMarker };
  return host.reach === 'dry' ? dryHost(real, world) : real;
}

/**
 * A bootstrap host gets its own name service in the middle of the run, and a pointer config may name
 * what only that knows; elsewhere the container's resolver is the host's.
 */
const lookupFor = ({ role }: Config, host: Host): Pick<ConnectionOptions, 'lookup'> =>
  role === 'bootstrap' ? { lookup: hostLookup({ host, clock: systemClock }) } : {};

function inventoryFor(
  { service, cluster }: Config,
  how: Pick<InventoryOptions, 'clock' | 'random' | 'onRetry' | 'connection'>,
): InventoryConnection {
  const options: InventoryOptions = {
    ...how,
    url: service.url,
    token: service.token,
    clusterId: cluster.id,
    infraEnvId: cluster.infraEnvId,
    hostId: cluster.hostId,
    reportLimit,
  };
  switch (service.api) {
    case 'v2':
      return inventoryV2(options);
    case 'v1':
      return inventoryV1(options, '/api/assisted-install/v1');
    case 'bm-inventory-v1':
      return inventoryV1(options, '/api/bm-inventory/v1');
  }
}

interface ClusterReach {
  readonly host: Host;
  readonly inventory: Inventory;
  readonly tell: Tell;
}

/** Masters and workers never talk to the cluster, and so never load what that takes. */
function kubeFor(
  { cluster, service }: Config,
  { host, inventory, tell }: ClusterReach,
): KubeCluster {
  const common = { clock: systemClock, random: systemRandom };
  return onFirstUse(async () => {
    const [{ kubeCluster }, { clusterCredentials }] = await Promise.all([
      import('../adapters/kube/kube.ts'),
      import('../adapters/kube/credentials.ts'),
    ]);
    return kubeCluster({
      ...common,
      tell,
      lookup: hostLookup({ host, clock: systemClock }),
      credentials: clusterCredentials({
        host,
        clock: systemClock,
        path: cluster.kubeconfig,
        ...(service.url === '' ? {} : { inventory }),
      }),
    });
  });
}

function objectsFor(
  { s3 }: Config,
  how: Pick<ObjectsOptions, 'clock' | 'random' | 'onRetry' | 'connection'>,
): Objects {
  const { endpoint, region, accessKeyId, secretAccessKey } = s3;
  const isAnonymous = accessKeyId === '' || secretAccessKey === undefined;
  return s3Objects({
    ...how,
    endpoint,
    region,
    ...(isAnonymous ? {} : { credentials: { accessKeyId, secretAccessKey } }),
  });
}

const trustFor = ({ service }: Config): Pick<ConnectionOptions, 'ca' | 'isInsecure'> => ({
  isInsecure: service.insecure,
  ...(service.caFile === '' || service.insecure ? {} : { ca: authoritiesIn(service.caFile) }),
});

const tellRetries =
  (tell: Tell) =>
  ({ what, failure, attempt, delay }: RetryNotice & { readonly what: string }): void => {
    tell({
      type: 'note',
      step: 'service/retry',
      level: 'warn',
      message: 'a request failed and is tried again',
      fields: { what, code: failure.code, reason: failure.message, attempt, delay },
    });
  };
