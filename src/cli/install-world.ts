import { systemClock, systemPorts } from '../adapters/clock.ts';
import { hostnameOf, pathOnHost } from '../adapters/host-root.ts';
import { hostLookup } from '../adapters/host/host-lookup.ts';
import { hostPrefix, nsenterHost } from '../adapters/host/nsenter-host.ts';
import { openInventory } from '../adapters/http/inventory.ts';
import { web } from '../adapters/http/web.ts';
import { loopbackRelay } from '../adapters/image-relay/loopback-relay.ts';
import type { KubeCluster } from '../adapters/kube/kube.ts';
import { onFirstUse } from '../adapters/kube/on-first-use.ts';
import { journald } from '../adapters/logging/journald.ts';
import { type ObjectsOptions, s3Objects } from '../adapters/objects/s3.ts';
import type { Environment } from '../config/environment.ts';
import type { Config } from '../config/schema.ts';
import type { Emit, Sink } from '../engine/events.ts';
import type { Host } from '../ports/host.ts';
import type { Inventory } from '../ports/inventory.ts';
import type { Objects } from '../ports/objects.ts';
import { seconds } from '../model/duration.ts';
import type { Ports } from '../ports/ports.ts';
import { serveStatus } from '../adapters/status-server.ts';
import { listenAddressOf } from '../lib/address.ts';
import { proxyEnv, revealedProxies } from '../lib/proxies.ts';
import { terminalLineOf, openTerminal } from '../reporting/terminal.ts';
import { outputStream } from './messages.ts';
import { type EventHub, eventHub, openHub } from './run-context.ts';
import { emitRetries, networkOf } from './network.ts';

/** Ports, event hub and log of one run. Disposing of it closes connections, then sinks. */
export interface RunWorld extends AsyncDisposable {
  /** Serves the status of the run as JSON, if the settings name an address for it. */
  readonly showStatus: (text: string) => void;
  /** All ports except the reports, which need the role of the run. */
  readonly ports: Omit<Ports, 'reports'>;
  readonly hub: EventHub;
}

/** Limit for a command that only checks: an installation has more time. */
const checkLimit = seconds(10);

/** Timeout of one report. After it, the reporter looks for a newer report. */
const reportLimit = seconds(15);

type Mask = (text: string) => string;

/** Inputs of a run's world in addition to its configuration. */
interface WorldContext {
  readonly environment: Environment;
  readonly mask: Mask;
  /**
   * Logs nothing, and gives up soon on an unreachable server: the command is not an installation.
   */
  readonly isQuiet?: boolean;
}

/** The host of the settings. */
export function hostFor({ host, proxy }: Config, environment: Environment, emit: Emit): Host {
  const variables = proxyEnv(revealedProxies(proxy));
  return nsenterHost({ root: host.root, onCommand: emit, environment, variables });
}

/**
 * Opens the sinks, which see every event, then the ports of a configuration. Ports connect on first
 * use.
 * @throws AgentError `web.bad-authority`
 */
export async function openWorld(
  config: Config,
  { environment, mask, isQuiet = false }: WorldContext,
): Promise<RunWorld> {
  await using opened = new AsyncDisposableStack();
  const { hub, close } = isQuiet
    ? { hub: eventHub(systemClock, systemPorts.random.uuid(), mask), close: () => undefined }
    : await openSinks(config, environment, mask);
  opened.defer(close);
  const host = hostFor(config, environment, hub.emit);
  const network = { ...(await networkOf(config)), lookup: hostLookup(config.host.root) };
  const onRetry = emitRetries(hub.emit);
  const callLimit = isQuiet ? checkLimit : undefined;
  const inventory = openInventory(config, { network, onRetry, reportLimit, callLimit });
  const listen = isQuiet ? undefined : listenAddressOf(config.log.status);
  const status = listen && (await serveStatus(listen, hub.emit));
  opened.defer(() => status?.close());
  const far = {
    ...systemPorts,
    onRetry,
    connection: network,
    ...(isQuiet ? { openLimit: checkLimit } : {}),
  };
  const webPort = web(far);
  const kube = kubeFor(config, host, inventory, hub.emit);
  const objects = objectsFor(config, far);
  const imageRelay = loopbackRelay({ web: webPort, clock: systemClock });
  opened.defer(async () => {
    await Promise.allSettled([inventory.close(), webPort.close(), kube.close()]);
  });

  const ports = { ...systemPorts, host, inventory, kube, web: webPort, objects, imageRelay };
  const all = opened.move();
  return {
    ports,
    hub,
    showStatus: (text) => status?.show(text),
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Masters and workers never talk to the cluster, so they do not load its client. */
function kubeFor(
  { cluster, service, host: { root } }: Config,
  host: Host,
  inventory: Inventory,
  emit: Emit,
): KubeCluster {
  return onFirstUse(async () => {
    const [{ kubeCluster }, { clusterCredentials }] = await Promise.all([
      import('../adapters/kube/kube.ts'),
      import('../adapters/kube/credentials.ts'),
    ]);
    return kubeCluster({
      ...systemPorts,
      emit,
      lookup: hostLookup(root),
      credentials: clusterCredentials({
        host,
        clock: systemClock,
        path: cluster.kubeconfig,
        ...(service.url.isEmpty ? {} : { inventory }),
      }),
    });
  });
}

function objectsFor(
  { s3 }: Config,
  how: Pick<ObjectsOptions, 'clock' | 'random' | 'onRetry' | 'connection' | 'openLimit'>,
): Objects {
  const { endpoint, region, accessKeyId, secretAccessKey } = s3;
  const isAnonymous = accessKeyId === '' || secretAccessKey === undefined;
  return s3Objects({
    ...how,
    endpoint: endpoint.reveal(),
    region,
    ...(isAnonymous ? {} : { credentials: { accessKeyId, secretAccessKey } }),
  });
}

/**
 * Opens the log (standard output, file, journal), the event stream and, on a terminal, the line at
 * its bottom.
 */
async function openSinks(
  { log, host }: Config,
  environment: Environment,
  mask: Mask,
): ReturnType<typeof openHub> {
  const isForPeople = log.format === 'auto' && process.stdout.isTTY;
  const hasControls = isForPeople && process.env['TERM'] !== 'dumb';
  const terminal = hasControls ? openTerminal(outputStream('stdout')) : undefined;
  const journal = journald({
    access: { prefix: hostPrefix(environment), environment },
    socket: await pathOnHost(host.root, '/run/systemd/journal/socket').catch(() => ''),
  });
  const state = terminalLineOf();
  const showState: Sink = (event) => {
    const text = state(event);
    if (text !== undefined) terminal?.status(mask(text));
  };
  const { hub, close } = await openHub(mask, {
    log: {
      level: log.verbose ? 'debug' : 'info',
      format: log.format === 'pretty' || isForPeople ? 'pretty' : 'json',
      hostname: await hostnameOf(host.root),
      descriptors: terminal === undefined ? [1] : [],
      onLine: (text, level) => {
        terminal?.line(text);
        journal.line(text, level);
      },
    },
    file: () => pathOnHost(host.root, log.file),
    events: log.events,
    sinks: [showState],
  });
  return {
    hub,
    close: async () => {
      terminal?.close();
      await Promise.allSettled([close(), journal.close()]);
    },
  };
}
