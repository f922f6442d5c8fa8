// The servers around virtual machines that make a cluster. Guests reach them at the gateway of
// their network.
import { randomUUID } from 'node:crypto';
import { machineConfig, pointerConfig } from '../install/ignition.ts';
import { type ImageServer, serveImage } from '../install/image-server.ts';
import { gateway, type Outside, seenByGuests } from '../install/outside.ts';
import type { HostPhase } from '../../../mocks/cluster/cluster-state.ts';
import type { Pace } from '../../../mocks/cluster/pace.ts';
import type { RunningCluster } from '../../../mocks/cluster/run-cluster.ts';
import { type BootstrapMirror, bootstrapMirror, startDesk } from './desk.ts';
import { withGuestScripts } from './stand-ins.ts';
import { type MockServer, startMockServer } from '../../../mocks/http/mock-server.ts';
import { download } from '../../../mocks/inventory/answers.ts';
import { tokenIssuer } from '../../../mocks/inventory/auth.ts';
import { clusterSeed, type HostRecord, hostSeed } from '../../../mocks/inventory/records.ts';
import { inventoryApp } from '../../../mocks/inventory/server.ts';
import { type InventoryStore, inventoryStore } from '../../../mocks/inventory/store.ts';
import type { KubeParts } from '../../../mocks/kube/start.ts';
import {
  startCluster,
  type StartedCluster,
  memberOf,
  planOf,
  startUnreachable,
} from '../../../mocks/lab/start-cluster.ts';
import type { Scenario } from '../../../mocks/lab/scenario.ts';
import type { GuestHost } from './guest-host.ts';

/** Everything outside of the guests but the cluster. */
export interface GuestWorld extends AsyncDisposable {
  /** What each host sees, the bootstrap host first. */
  readonly outsides: readonly Outside[];
  readonly store: InventoryStore;
  readonly inventory: MockServer;
  readonly mirror: BootstrapMirror;
  /** URL of the desk as guests see it. */
  readonly desk: string;
  /** URL of the image as guests see it. */
  readonly imageUrl: string;
  /** The machine-config-server answers from now on, if this says so. */
  readonly serveConfig: (serving: ConfigServing) => void;
}

/** What the world is made of. */
interface WorldPlan {
  readonly scenario: Scenario;
  readonly imagePath: string;
  /** For the files of the bootstrap host that the cluster sees. */
  readonly mirrorFolder: string;
}

/** Starts the servers for the hosts of a scenario. */
export async function startWorld(plan: WorldPlan): Promise<GuestWorld> {
  const issuer = tokenIssuer();
  const { store, cluster } = openStore(plan.scenario);
  const mirror = bootstrapMirror(plan.mirrorFolder);
  const servers: MockServer[] = [];
  const started = async (server: Promise<MockServer>): Promise<MockServer> => {
    servers.push(await server);
    return server;
  };
  const desk = seenByGuests((await started(startDesk(mirror))).url);
  const images: ImageServer = await serveImage(plan.imagePath);
  let serving: ConfigServing = { isServed: () => false, given: () => undefined };
  const machineConfigServer = await started(
    startMockServer({ answer: (request) => giveConfig(request, serving) }),
  );
  const app = inventoryApp(store, issuer.auth);
  const server = await started(
    startMockServer({
      answer: async (request) =>
        forGuests(await app.fetch(request), request.url, {
          store,
          desk,
          configServer: seenByGuests(machineConfigServer.url),
        }),
    }),
  );
  const [first] = store.hosts();
  const token = issuer.issue({ infra_env_id: first?.infraEnvId ?? '' });
  const inventory = { ...server, store };
  return {
    outsides: store.hosts().map((host) => ({
      cluster,
      host,
      token,
      inventory,
      machineConfigServer,
      [Symbol.asyncDispose]: () => Promise.resolve(),
    })),
    store,
    inventory: server,
    mirror,
    desk,
    imageUrl: `http://${gateway}:${images.port}${images.path}`,
    serveConfig: (next) => {
      serving = next;
    },
    [Symbol.asyncDispose]: async () => {
      await Promise.all(servers.map((one) => one.close()));
      await images[Symbol.asyncDispose]();
    },
  };
}

function openStore({ cluster: { name, openshiftVersion, controlPlaneCount }, hosts }: Scenario) {
  const cluster = clusterSeed({ name, openshiftVersion, controlPlaneCount });
  const infraEnvId = randomUUID();
  const records = hosts.map(({ name: hostname, role }) =>
    hostSeed({
      hostname,
      role: role === 'bootstrap' ? 'master' : role,
      isBootstrap: role === 'bootstrap',
      clusterId: cluster.id,
      infraEnvId,
    }),
  );
  return { cluster, store: inventoryStore({ cluster, hosts: records }) };
}

// The cluster that virtual machines make: what they do themselves is not simulated by time, but
// reported by them.

/** Longer than any run: a guest reports by itself how far it is. */
const heardFromGuest = 24 * 60 * 60;

/** The pace of a cluster whose hosts start and configure themselves. */
export const guestPace = (pace: Pace): Pace => ({
  ...pace,
  bootSeconds: heardFromGuest,
  configureSeconds: heardFromGuest,
});

/** Starts the API server, which nobody reaches yet, and lets the cluster live. */
export async function openGuestCluster(
  world: GuestWorld,
  hosts: readonly GuestHost[],
  {
    scenario,
    parts,
    ...place
  }: {
    readonly scenario: Scenario;
    readonly parts: KubeParts;
    readonly bundle: string;
    readonly folder: string;
  },
): Promise<StartedCluster> {
  const { store, mirror } = world;
  const kube = await startUnreachable(parts);
  store.setKubeconfig(await kube.kubeconfigFor({ server: seenByGuests(kube.forwarder.url) }));
  const members = hosts.map((host) => memberOf(store, host));
  const plan = planOf({ ...scenario, pace: guestPace(scenario.pace) }, members);
  const { invoker } = scenario.cluster;
  const reached = (url: string): string => url.replace(gateway, '127.0.0.1');
  const site = { plan, invoker, members, kube, bootstrap: mirror, store };
  return startCluster(site, { ...place, reached });
}

/** Phases in which an installed system asks for its config for the first time. */
const asking: ReadonlySet<HostPhase | undefined> = new Set<HostPhase>(['booting', 'waiting']);

/**
 * Lets installed systems have their config as soon as a machine-config-server of the cluster
 * answers.
 */
export function serveConfigOf(
  { serveConfig, store }: Pick<GuestWorld, 'serveConfig' | 'store'>,
  { state, emit }: Pick<RunningCluster, 'state' | 'emit'>,
): void {
  serveConfig({
    isServed: () => state().isConfigServed,
    given: (hostId) => {
      const host = store.host(hostId)?.hostname ?? '';
      if (asking.has(state().phases[host])) emit({ kind: 'boot-due', host });
    },
  });
}

// What servers answer to virtual machines otherwise than to simulated hosts.

/** What happens when an installed system asks the machine-config-server. */
export interface ConfigServing {
  /** Whether there is one that answers; Ignition asks again when there is none. */
  readonly isServed: () => boolean;
  /** A host has got its config. */
  readonly given: (hostId: string) => void;
}

/**
 * The answer of the machine-config-server. Hosts are told apart by the query: all guests come from
 * one address.
 */
export function giveConfig(request: Request, { isServed, given }: ConfigServing): Response {
  const { pathname, searchParams } = new URL(request.url);
  if (!pathname.startsWith('/config/')) return new Response(null, { status: 404 });
  if (!isServed()) return new Response(null, { status: 503 });
  given(searchParams.get('host') ?? '');
  return Response.json(machineConfig());
}

/** What guests must see otherwise than this machine does. */
interface GuestView {
  readonly store: Pick<InventoryStore, 'host'>;
  /** URLs as guests see them. */
  readonly desk: string;
  readonly configServer: string;
}

/**
 * An answer of the inventory service as guests need it: where their config is, and scripts that
 * they can run.
 */
export async function forGuests(
  answer: Response,
  url: string,
  { store, desk, configServer }: GuestView,
): Promise<Response> {
  if (!answer.ok) return answer;
  const { pathname, searchParams } = new URL(url);
  const [, id] = /\/hosts\/([^/]+)\/downloads\/ignition$/.exec(pathname) ?? [];
  const host = store.host(id ?? '');
  if (host !== undefined) {
    return download(`${host.role}-${host.id}.ign`, pointerOf(host, configServer));
  }
  if (searchParams.get('file_name') !== 'bootstrap.ign') return answer;
  return download('bootstrap.ign', withGuestScripts(await answer.text(), desk));
}

const pointerOf = ({ id, hostname, role }: HostRecord, configServer: string): string =>
  JSON.stringify(pointerConfig({ hostname, source: `${configServer}/config/${role}?host=${id}` }));
