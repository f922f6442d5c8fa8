import { describe, expect, it } from 'vitest';
import { type ClusterPlan, type Happening, unborn } from '../../cluster/cluster-state.ts';
import { decide } from '../../cluster/decide.ts';
import { Pace } from '../../cluster/pace.ts';
import { clusterSeed, hostSeed } from '../../inventory/seed.ts';
import { inventoryStore } from '../../inventory/store.ts';
import { guestPace, serveConfigOf } from './guest-cluster.ts';
import type { ConfigServing } from './guest-answers.ts';

const member = (name: string, isBootstrap = false) =>
  ({ name, role: 'master', isBootstrap }) as const;
const plan: ClusterPlan = {
  members: [member('b1', true), member('m1'), member('m2')],
  needsEtcdOverride: false,
  apiMoves: false,
  pace: guestPace(Pace.parse({})),
};

/** A cluster in which time stands still: only what is told to it happens. */
function tellingCluster() {
  let state = unborn(plan);
  const deeds: string[] = [];
  const happen = (happening: Happening): void => {
    const turn = decide(state, happening, plan);
    ({ state } = turn);
    deeds.push(...turn.deeds.map(({ kind }) => kind).filter((kind) => kind !== 'later'));
  };
  const cluster = clusterSeed();
  const host = hostSeed({
    ...{ id: 'id-of-m1', clusterId: cluster.id, infraEnvId: 'env' },
    ...{ hostname: 'm1', role: 'master' },
  });
  let serving: ConfigServing | undefined;
  serveConfigOf(
    {
      store: inventoryStore({ cluster, hosts: [host] }),
      serveConfig: (next) => {
        serving = next;
      },
    },
    { state: () => state, happen },
  );
  return {
    happen,
    deeds,
    phase: () => state.phases['m1'],
    isServed: () => serving?.isServed(),
    given: (id: string) => serving?.given(id),
  };
}

describe('the config of a guest that was installed', () => {
  it('is served once the machine-config-server of the cluster answers', () => {
    const { happen, isServed } = tellingCluster();
    expect(isServed()).toBe(false);
    happen({ kind: 'api-due' });
    happen({ kind: 'config-server-due' });
    expect(isServed()).toBe(true);
  });

  it('is logged, and the guest applies it until it tells that it has', () => {
    const { happen, given, deeds, phase } = tellingCluster();
    happen({ kind: 'config-server-due' });
    happen({ kind: 'rebooted', host: 'm1' });
    given('id-of-m1');
    expect([deeds, phase()]).toEqual([['log-request'], 'configuring']);
    happen({ kind: 'configured-due', host: 'm1' });
    expect([deeds.includes('add-node'), phase()]).toEqual([true, 'joining']);
  });

  it('is logged once, however often Ignition asks', () => {
    const { happen, given, deeds } = tellingCluster();
    happen({ kind: 'config-server-due' });
    happen({ kind: 'rebooted', host: 'm1' });
    given('id-of-m1');
    given('id-of-m1');
    expect(deeds).toEqual(['log-request']);
  });

  it.each(['id-of-m1', 'nobody'])(
    'means nothing for %s that has not left the live system',
    (id) => {
      const { happen, given, deeds } = tellingCluster();
      happen({ kind: 'config-server-due' });
      given(id);
      expect(deeds).toEqual([]);
    },
  );
});
