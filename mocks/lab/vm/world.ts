// The servers around virtual machines that make a cluster. Guests reach them at the gateway of their network.
import { randomUUID } from 'node:crypto';
import { gateway, type Outside, seenByGuests } from '../../../test/guest/install/outside.ts';
import { type ImageServer, serveImage } from '../../../test/guest/install/image-server.ts';
import { type BootstrapMirror, bootstrapMirror } from '../../guest/mirror.ts';
import { startDesk } from '../../guest/desk.ts';
import { type MockServer, startMockServer } from '../../http/mock-server.ts';
import { inventoryApp } from '../../inventory/app.ts';
import { tokenIssuer } from '../../inventory/auth.ts';
import { clusterSeed, hostSeed } from '../../inventory/seed.ts';
import { type InventoryStore, inventoryStore } from '../../inventory/store.ts';
import type { Scenario } from '../scenario.ts';
import { type ConfigServing, forGuests, giveConfig } from './guest-answers.ts';

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
      ...{ cluster, host, token, inventory, machineConfigServer },
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
