import { join } from 'node:path/posix';
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
import { journald } from '../adapters/logging/journald.ts';
import { type LogOptions, openEventStream, openLog } from '../adapters/logging/log-sink.ts';
import { openTerminal } from '../adapters/logging/terminal.ts';
import { type ObjectsOptions, s3Objects } from '../adapters/objects/s3.ts';
import { systemRandom } from '../adapters/random.ts';
import type { Environment } from '../config/environment.ts';
import type { Config } from '../config/schema.ts';
import type { RunEventBody, Sink } from '../engine/events.ts';
import { asAgentError } from '../engine/failures.ts';
import { seconds } from '../model/duration.ts';
import type { AgentError } from '../model/failure.ts';
import type { Host } from '../ports/host.ts';
import type { Inventory } from '../ports/inventory.ts';
import type { Objects } from '../ports/objects.ts';
import type { Ports } from '../ports/ports.ts';
import { proxyEnv } from '../steps/host-commands.ts';
import { terminalLineOf } from '../reporting/terminal-line.ts';
import { type EventHub, eventHub } from './run-context.ts';

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
  for (const fault of sinks.faults) hub.emit(withoutLog(fault));

  const clock = systemClock;
  const random = systemRandom;
  const onRetry = emitRetries(hub.emit);
  const common = { clock, random, onRetry };
  const host = hostFor(config, environment, hub.emit);
  const network = networkFor(config, host);
  const webPort = web({ ...common, connection: network });
  const inventory = inventoryFor(config, {
    ...common,
    opened: serviceConnection(config, network, toService),
  });
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

const withoutLog = ({ code, message, hint }: AgentError): RunEventBody => ({
  type: 'note',
  step: 'log/open',
  level: 'warn',
  message: 'the installation goes on without one of its logs',
  fields: { code, reason: message, hint },
});

/** The sinks of one run. */
interface RunSinks {
  readonly list: readonly Sink[];
  /** What could not be opened. */
  readonly faults: readonly AgentError[];
  /** Flushes the buffers; takes two seconds at most. */
  readonly close: () => Promise<void>;
}

/**
 * Opens the log (standard output, file, journal), the event stream, and the line at the bottom of a
 * terminal where there is one. No file of these is worth an installation.
 */
function openSinks(config: Config, mask: (text: string) => string): RunSinks {
  const { log, host, dry } = config;
  const terminal =
    log.format === 'auto' && process.stdout.isTTY ? openTerminal(process.stdout) : undefined;
  const journal = journald({
    socket: join(host.root, '/run/systemd/journal/socket'),
    ...(dry.hostId === '' ? {} : { fields: { DRY_AGENT_ID: dry.hostId } }),
  });
  const faults: AgentError[] = [];
  const ifPossible = <T>(open: () => T): T | undefined => {
    try {
      return open();
    } catch (thrown) {
      faults.push(asAgentError(thrown));
      return undefined;
    }
  };
  const options: LogOptions = {
    level: log.verbose ? 'debug' : 'info',
    format: log.format === 'pretty' || terminal !== undefined ? 'pretty' : 'json',
    descriptors: terminal === undefined ? [1] : [],
    mask,
    onLine: (text, level) => {
      terminal?.line(text);
      journal.line(text, level);
    },
  };
  const opened =
    ifPossible(() => openLog({ ...options, file: join(host.root, log.file) })) ?? openLog(options);
  const events =
    log.events === '' ? undefined : ifPossible(() => openEventStream(log.events, mask));
  const state = terminalLineOf();
  const showState: Sink = (event) => {
    const text = state(event);
    if (text !== undefined) terminal?.status(mask(text));
  };
  return {
    faults,
    list: [opened.sink, ...(events === undefined ? [] : [events.sink]), showState],
    close: async () => {
      terminal?.close();
      await Promise.all([opened.close(), events?.close(), journal.close()]);
    },
  };
}
