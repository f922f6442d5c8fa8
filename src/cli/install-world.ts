import { systemClock } from '../adapters/clock.ts';
import { dryHost } from '../adapters/host/dry-host.ts';
import { hostLookup } from '../adapters/host/host-lookup.ts';
import { nsenterHost } from '../adapters/host/nsenter-host.ts';
import {
  type Connection,
  connection,
  type ConnectionOptions,
} from '../adapters/http/connection.ts';
import type { InventoryOptions } from '../adapters/http/inventory-client.ts';
import { type InventoryConnection, inventoryV1, inventoryV2 } from '../adapters/http/inventory.ts';
import type { RetryNotice } from '../adapters/http/retry.ts';
import { authoritiesIn } from '../adapters/http/tls.ts';
import { web } from '../adapters/http/web.ts';
import { loopbackRelay } from '../adapters/image-relay/loopback-relay.ts';
import type { KubeCluster } from '../adapters/kube/kube.ts';
import { onFirstUse } from '../adapters/kube/on-first-use.ts';
import { type ObjectsOptions, s3Objects } from '../adapters/objects/s3.ts';
import { systemRandom } from '../adapters/random.ts';
import type { Environment } from '../config/environment.ts';
import type { Config } from '../config/schema.ts';
import { seconds } from '../model/duration.ts';
import type { Host } from '../ports/host.ts';
import type { Inventory } from '../ports/inventory.ts';
import type { Objects } from '../ports/objects.ts';
import type { Ports } from '../ports/ports.ts';
import { proxyEnv } from '../steps/host-commands.ts';
import { type EventHub, eventHub } from './run-context.ts';
import { openSinks } from './run-sinks.ts';

/** Everything that one run works with. Disposing of it closes connections, then sinks. */
export interface RunWorld extends AsyncDisposable {
  /** All but the reports, which need the role of the run. */
  readonly ports: Omit<Ports, 'reports'>;
  readonly hub: EventHub;
  readonly mask: Mask;
}

type Mask = (text: string) => string;
type Emit = EventHub['emit'];

/** What the world of a run is given beside its configuration. */
interface WorldContext {
  readonly environment: Environment;
  readonly mask: Mask;
  /** Connections to the service that are open already. */
  readonly toService: Connection | undefined;
}

/** Timeout of one report; then the reporter checks for a newer one. */
const reportLimit = seconds(15);

/**
 * Opens what a configuration asks for: first the sinks, which see every event, then the ports. No
 * connection is opened before its first use.
 * @throws AgentError `web.bad-authority`
 */
export async function openWorld(
  config: Config,
  { environment, mask, toService }: WorldContext,
): Promise<RunWorld> {
  await using opened = new AsyncDisposableStack();
  const hub = eventHub(systemClock, systemRandom.uuid());
  const sinks = openSinks(config, mask);
  opened.defer(sinks.close);
  for (const sink of sinks.list) hub.add(sink);
  for (const fault of sinks.faults) hub.emit(fault);

  const clock = systemClock;
  const random = systemRandom;
  const onRetry = emitRetries(hub.emit);
  const common = { clock, random, onRetry };
  const { host, network, inventory } = openService(config, {
    ...{ environment, toService },
    emit: hub.emit,
  });
  const webPort = web({ ...common, connection: network });
  const kube = kubeFor(config, { host, inventory, emit: hub.emit });
  const objects = objectsFor(config, { ...common, connection: network });
  const imageRelay = loopbackRelay({ web: webPort, clock });
  opened.defer(async () => {
    await Promise.allSettled([inventory.close(), webPort.close(), kube.close()]);
  });

  const ports = { clock, random, host, inventory, kube, web: webPort, objects, imageRelay };
  const all = opened.move();
  return { ports, hub, mask, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

interface ServiceContext extends Omit<WorldContext, 'mask'> {
  readonly emit: Emit;
}

/** A host, and the service that hears of its installation. */
interface ServiceReach {
  readonly host: Host;
  readonly inventory: InventoryConnection;
  /** How every other server is reached. */
  readonly network: ConnectionOptions;
}

/**
 * Opens what it takes to report for a host.
 * @throws AgentError `web.bad-authority`
 */
export function openService(
  config: Config,
  { environment, toService, emit }: ServiceContext,
): ServiceReach {
  const host = hostFor(config, environment, emit);
  const network = networkFor(config, host);
  const inventory = inventoryFor(config, {
    ...{ clock: systemClock, random: systemRandom, onRetry: emitRetries(emit) },
    opened: serviceConnection(config, network, toService),
  });
  return { host, network, inventory };
}

function hostFor({ host, dry, disk, proxy }: Config, environment: Environment, emit: Emit): Host {
  const variables = proxyEnv(proxy);
  const real = nsenterHost({ root: host.root, onCommand: emit, environment, variables });
  const world = { device: disk.device, rebootMarker: dry.rebootMarker };
  return host.reach === 'dry' ? dryHost(real, world) : real;
}

/**
 * How every server but the API server is reached (ADR 0033). A bootstrap host gets its own name
 * service in the middle of the run, and a pointer config may name what only that knows; elsewhere the
 * container's resolver is the host's.
 */
const networkFor = ({ role, proxy, service }: Config, host: Host): ConnectionOptions => ({
  proxies: proxy,
  ...(service.caFile === '' || service.insecure ? {} : { ca: authoritiesIn(service.caFile) }),
  ...(role === 'bootstrap' ? { lookup: hostLookup({ host, clock: systemClock }) } : {}),
});

/** The connections of the first report, which are open already, or new ones. */
function serviceConnection(
  { service }: Config,
  network: ConnectionOptions,
  early: Connection | undefined,
): Connection {
  if (early === undefined) return connection({ ...network, isInsecure: service.insecure });
  if (network.lookup !== undefined) early.resolveBy(network.lookup);
  return early;
}

function inventoryFor(
  { service, cluster }: Config,
  how: Pick<InventoryOptions, 'clock' | 'random' | 'onRetry' | 'opened'>,
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
  readonly emit: Emit;
}

/** Masters and workers never talk to the cluster, and so never load what that takes. */
function kubeFor(
  { cluster, service }: Config,
  { host, inventory, emit }: ClusterReach,
): KubeCluster {
  const common = { clock: systemClock, random: systemRandom };
  return onFirstUse(async () => {
    const [{ kubeCluster }, { clusterCredentials }] = await Promise.all([
      import('../adapters/kube/kube.ts'),
      import('../adapters/kube/credentials.ts'),
    ]);
    return kubeCluster({
      ...common,
      emit,
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

const emitRetries =
  (emit: Emit) =>
  ({ what, failure, attempt, delay }: RetryNotice & { readonly what: string }): void => {
    emit({
      type: 'note',
      step: 'service/retry',
      level: 'warn',
      message: 'a request failed and will be retried',
      fields: { what, code: failure.code, reason: failure.message, attempt, delay },
    });
  };
