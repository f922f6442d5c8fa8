// The surroundings of a cluster that builds operating systems: registries, settings of hosts, the
// machine-config-server.
import {
  type LayeredPlan,
  type LayeredSite,
  placesOfRelease,
  registriesOf,
  registrySettings,
} from '../layering/plan.ts';
import type { RunningCluster } from '../cluster/run-cluster.ts';
import type { HostSite } from '../host/build-machine.ts';
import { type MockServer, startMockServer } from '../http/mock-server.ts';
import type { InventoryStore } from '../inventory/store.ts';
import { labPullSecret, registryNetwork, type RegistryNetwork } from '../registries/network.ts';
import { layeredBootstrapFiles } from '../layering/objects.ts';
import type { Scenario } from './scenario.ts';
import type { LabHost } from './lab-host.ts';

/** The parts that exist before the hosts. */
interface LayeredGround {
  readonly plan: LayeredPlan;
  readonly network: RegistryNetwork;
  /** Settings of every live system. */
  readonly hosts: HostSite;
}

/** The parts for a scenario that builds operating systems; undefined for other scenarios. */
export function layeredGround({ layering, cluster }: Scenario): LayeredGround | undefined {
  if (layering === undefined) return undefined;
  const plan: LayeredPlan = { openshiftVersion: cluster.openshiftVersion, ...layering };
  const network = registryNetwork(registriesOf(plan));
  for (const place of placesOfRelease(plan)) {
    const digest = place.replace(/^.*@/, '');
    network.images.set(place, { digest, labels: { 'ostree.bootable': 'true' } });
  }
  const settings = registrySettings(plan);
  return {
    plan,
    network,
    hosts: {
      network,
      files: {
        'root/.docker/config.json': labPullSecret,
        ...(settings === undefined ? {} : { 'etc/containers/registries.conf': settings }),
      },
    },
  };
}

/** Connects the hosts' cluster to these parts, and gives the bootstrap host its manifests. */
export function layeredSite(
  { plan, network }: LayeredGround,
  hosts: readonly LabHost[],
  store: InventoryStore,
): LayeredSite {
  store.addBootstrapFiles(layeredBootstrapFiles(plan));
  for (const { machine } of hosts) machine.images.buildError = plan.buildError;
  const hostNamed = (name: string): LabHost | undefined =>
    hosts.find(({ plan: { name: own } }) => own === name);
  return {
    plan,
    network,
    machines: new Map(hosts.map(({ plan: { name }, machine }) => [name, machine])),
    systems: new Map(),
    incidents: [],
    restarted: (name) => {
      const host = hostNamed(name);
      if (host !== undefined) host.boots += 1;
    },
    power: (name, isOn) => {
      const server = hostNamed(name)?.server;
      if (isOn) server?.powerOn();
      else server?.powerOff();
    },
  };
}

/** Serves `/config/POOL` from the present state of the cluster. */
export async function serveConfigs(
  store: InventoryStore,
  cluster: () => RunningCluster | undefined,
): Promise<MockServer> {
  const server = await startMockServer({
    answer: async ({ url }) => {
      const [, pool] = /^\/config\/([a-z]+)$/.exec(new URL(url).pathname) ?? [];
      if (pool === undefined) return new Response(null, { status: 404 });
      const text = await cluster()?.served(pool);
      return text === undefined
        ? new Response(null, { status: 500 })
        : new Response(text, { headers: { 'content-type': 'application/json' } });
    },
  });
  store.setConfigServer(server.url);
  return server;
}
