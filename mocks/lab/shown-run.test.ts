import { describe, expect, it } from 'vitest';
import type { RunEvent } from '../../src/engine/events.ts';
import type { HostPhase } from '../cluster/cluster-state.ts';
import { clusterSeed, hostSeed } from '../inventory/records.ts';
import { inventoryStore } from '../inventory/store.ts';
import { noProgress } from './host-progress.ts';
import { phaseOf, type ShownHost } from './shown-run.ts';

const event: RunEvent = {
  type: 'run.finished',
  outcome: 'left the host',
  duration: 1,
  at: 1,
  run: 'r',
};

const phase = (
  change: Partial<ShownHost>,
  { stage = '', inCluster }: { readonly stage?: string; readonly inCluster?: HostPhase } = {},
): string | undefined => {
  const cluster = clusterSeed();
  const seed = { clusterId: cluster.id, infraEnvId: 'e', hostname: 'm1', role: 'master' } as const;
  const record = { ...hostSeed(seed), stage };
  const host: ShownHost = {
    plan: { name: 'm1', role: 'master' },
    hostId: record.id,
    events: [],
    endedAt: undefined,
    progress: noProgress,
    phase: 'starts',
    outcome: undefined,
    failure: undefined,
    boots: 0,
    ...change,
  };
  const phases = inCluster === undefined ? {} : { m1: inCluster };
  const state = () => ({ phases }) as never;
  const store = inventoryStore({ cluster, hosts: [record] });
  return phaseOf(host, { inventory: { store }, cluster: { state } });
};

describe('what a host is at while no agent runs on it', () => {
  it.each([
    ['before the first event of its agent', phase({}), 'starts'],
    ['while its agent works', phase({ events: [event] }), undefined],
    ['after its reboot', phase({ events: [event], boots: 1 }, { stage: 'Rebooting' }), 'starts'],
    ['once the service says more', phase({ boots: 1 }, { stage: 'Joined' }), 'Joined'],
    ['in its cluster', phase({ boots: 1 }, { inCluster: 'ready' }), 'its node is Ready'],
  ])('%s', (_, words, expected) => {
    expect(words).toBe(expected);
  });
});
