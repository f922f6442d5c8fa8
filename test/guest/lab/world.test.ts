import { describe, expect, it } from 'vitest';
import { parseValidConfig } from '../../../src/ignition/parse.ts';
import { readPointer } from '../../../src/ignition/pointer.ts';
import {
  type ClusterPlan,
  type ClusterEvent,
  unborn,
} from '../../../mocks/cluster/cluster-state.ts';
import { decide } from '../../../mocks/cluster/decide.ts';
import { Pace } from '../../../mocks/cluster/pace.ts';
import { clusterSeed, hostSeed } from '../../../mocks/inventory/records.ts';
import { inventoryApp } from '../../../mocks/inventory/server.ts';
import { inventoryStore } from '../../../mocks/inventory/store.ts';
import { type ConfigServing, forGuests, giveConfig, guestPace, serveConfigOf } from './world.ts';

describe('the machine-config-server of guests', () => {
  const ask = (path: string, isServed: boolean) => {
    const given: string[] = [];
    const serving = { isServed: () => isServed, given: (id: string) => given.push(id) };
    const { status } = giveConfig(new Request(`http://10.0.2.2:1${path}`), serving);
    return { status, given };
  };

  it.each([
    { path: '/config/master?host=m1', isServed: true, status: 200, given: ['m1'] },
    { path: '/config/master?host=m1', isServed: false, status: 503, given: [] },
    { path: '/healthz', isServed: true, status: 404, given: [] },
  ])('answers $path with $status (served: $isServed)', ({ path, isServed, ...expected }) => {
    expect(ask(path, isServed)).toEqual(expected);
  });
});

describe('the inventory service of guests', () => {
  const cluster = clusterSeed();
  const host = hostSeed({
    clusterId: cluster.id,
    infraEnvId: '22222222-2222-4222-8222-222222222222',
    hostname: 'm1',
    role: 'master',
  });
  const store = inventoryStore({ cluster, hosts: [host] });
  const app = inventoryApp(store, { kind: 'none' });
  const view = { store, desk: 'http://10.0.2.2:3', configServer: 'http://10.0.2.2:2' };
  const get = async (path: string): Promise<Response> => {
    const url = `http://127.0.0.1:1/api/assisted-install/v2${path}`;
    return forGuests(await app.request(url), url, view);
  };
  const hostPath = `/infra-env/${host.infraEnvId}/hosts/${host.id}/downloads/ignition`;
  const files = `/clusters/${cluster.id}/downloads/files?file_name=`;

  it('points each host to the machine-config-server, which can tell who asks', async () => {
    const config = parseValidConfig(await (await get(hostPath)).text());
    const url = `http://10.0.2.2:2/config/master?host=${host.id}`;
    expect(readPointer(config)).toMatchObject({ kind: 'remote', url });
  });

  it('gives the bootstrap host scripts that ask at the desk', async () => {
    const config = parseValidConfig(await (await get(`${files}bootstrap.ign`)).text());
    const paths = config.storage?.files?.map(({ path }) => path);
    expect(paths).toContain('/usr/local/bin/progress.sh');
  });

  it.each([[`${files}metadata.json`], [`${files}nothing`], [`/clusters/${cluster.id}`]])(
    'answers %s as always',
    async (path) => {
      const plain = await app.request(`http://127.0.0.1:1/api/assisted-install/v2${path}`);
      const answer = await get(path);
      expect([answer.status, await answer.text()]).toEqual([plain.status, await plain.text()]);
    },
  );
});

const member = (name: string, isBootstrap = false) =>
  ({ name, role: 'master', isBootstrap }) as const;
const plan: ClusterPlan = {
  members: [member('b1', true), member('m1'), member('m2')],
  needsEtcdOverride: false,
  apiMoves: false,
  version: '4.20.1',
  pace: guestPace(Pace.parse({})),
};

/** A cluster in which time stands still: only what is told to it happens. */
function recordingCluster() {
  let state = unborn(plan);
  const actions: string[] = [];
  const emit = (event: ClusterEvent): void => {
    const turn = decide(state, event, plan);
    ({ state } = turn);
    actions.push(...turn.actions.map(({ kind }) => kind).filter((kind) => kind !== 'later'));
  };
  const cluster = clusterSeed();
  const host = hostSeed({
    id: 'id-of-m1',
    clusterId: cluster.id,
    infraEnvId: 'env',
    hostname: 'm1',
    role: 'master',
  });
  let serving: ConfigServing | undefined;
  serveConfigOf(
    {
      store: inventoryStore({ cluster, hosts: [host] }),
      serveConfig: (next) => {
        serving = next;
      },
    },
    { state: () => state, emit },
  );
  return {
    emit,
    actions,
    phase: () => state.phases['m1'],
    isServed: () => serving?.isServed(),
    given: (id: string) => serving?.given(id),
  };
}

describe('the config of a guest that was installed', () => {
  it('is served once the machine-config-server of the cluster answers', () => {
    const { emit, isServed } = recordingCluster();
    expect(isServed()).toBe(false);
    emit({ kind: 'api-due' });
    emit({ kind: 'config-server-due' });
    expect(isServed()).toBe(true);
  });

  it('is logged, and the guest applies it until it tells that it has', () => {
    const { emit, given, actions, phase } = recordingCluster();
    emit({ kind: 'config-server-due' });
    emit({ kind: 'rebooted', host: 'm1' });
    given('id-of-m1');
    expect([actions, phase()]).toEqual([['log-request'], 'configuring']);
    emit({ kind: 'configured-due', host: 'm1' });
    expect([actions.includes('add-node'), phase()]).toEqual([true, 'joining']);
  });

  it('is logged once, however often Ignition asks', () => {
    const { emit, given, actions } = recordingCluster();
    emit({ kind: 'config-server-due' });
    emit({ kind: 'rebooted', host: 'm1' });
    given('id-of-m1');
    given('id-of-m1');
    expect(actions).toEqual(['log-request']);
  });

  it.each(['id-of-m1', 'nobody'])(
    'means nothing for %s that has not left the live system',
    (id) => {
      const { emit, given, actions } = recordingCluster();
      emit({ kind: 'config-server-due' });
      given(id);
      expect(actions).toEqual([]);
    },
  );
});
