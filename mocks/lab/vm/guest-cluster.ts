// The cluster that virtual machines make: what they do themselves is not played by time, but heard from them.
import { seenByGuests } from '../../../test/guest/install/outside.ts';
import type { HostPhase } from '../../cluster/cluster-state.ts';
import type { Pace } from '../../cluster/pace.ts';
import type { ClusterLife } from '../../cluster/run-cluster.ts';
import {
  bearCluster,
  type BornCluster,
  memberOf,
  planOf,
  startUnreachable,
} from '../born-cluster.ts';
import type { KubeParts } from '../../kube/start.ts';
import type { Scenario } from '../scenario.ts';
import type { GuestSeat } from '../vm-host.ts';
import type { GuestWorld } from './world.ts';

/** Longer than any play: a guest tells by itself when it has come so far. */
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
  seats: readonly GuestSeat[],
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
): Promise<BornCluster> {
  const { store, mirror } = world;
  const kube = await startUnreachable(parts);
  store.setKubeconfig(await kube.kubeconfigFor({ server: seenByGuests(kube.forwarder.url) }));
  const members = seats.map((seat) => memberOf(store, seat));
  const plan = planOf({ ...scenario, pace: guestPace(scenario.pace) }, members);
  const { invoker } = scenario.cluster;
  return bearCluster({ plan, invoker, members, kube, bootstrap: mirror, store }, place);
}

/** Phases in which an installed system asks for its config for the first time. */
const asking: ReadonlySet<HostPhase | undefined> = new Set<HostPhase>(['booting', 'waiting']);

/** Lets installed systems have their config as soon as a machine-config-server of the cluster answers. */
export function serveConfigOf(
  { serveConfig, store }: Pick<GuestWorld, 'serveConfig' | 'store'>,
  { state, happen }: Pick<ClusterLife, 'state' | 'happen'>,
): void {
  serveConfig({
    isServed: () => state().isConfigServed,
    given: (hostId) => {
      const host = store.host(hostId)?.hostname ?? '';
      if (asking.has(state().phases[host])) happen({ kind: 'boot-due', host });
    },
  });
}
