import { beforeAll, describe, expect, it } from 'vitest';
import { isOverridden, etcdCluster } from '../../src/cluster/etcd.ts';
import {
  bareMetalHosts,
  clusterRoleBindings,
  configMaps,
  machineConfigPools,
  nodes,
  pods,
  secrets,
  serviceAccounts,
} from '../../src/kube/kinds.ts';
import { Config } from '../../src/config/schema.ts';
import { hours, minutes } from '../../src/model/duration.ts';
import { runInstallation } from '../../src/controllers/installation/installation.ts';
import { recordRef } from '../../src/steps/cluster/left-record.ts';
import type { ControllerPorts } from '../../src/controllers/installation/scope.ts';
import { fakeClock, settle } from '../support/fake-clock.ts';
import { fakeHost } from '../support/fake-host.ts';
import { fakeRandom } from '../support/fake-random.ts';
import { controllerSite, type Requests, requestsOfMaster, tickEvery } from './controller-site.ts';
import type { Ending } from './installation-service.ts';

let requests: Requests;
beforeAll(async () => {
  requests = await requestsOfMaster();
});

const effectsOf = {
  kube: ['patch', 'create', 'replace', 'apply', 'remove'],
  adminKube: ['patch', 'create', 'replace', 'apply', 'remove'],
  inventory: [
    ...['report', 'clusterLogsState', 'uploadControllerLogs', 'reportFinalizing', 'reportOperator'],
    ...['uploadIngressCa', 'complete'],
  ],
} as const;

type Site = ReturnType<typeof controllerSite>;

/**
 * Ports of a process that is killed right after its effect with this number: no later effect
 * happens.
 */
function mortal(site: Site, dies: number | undefined) {
  const killer = new AbortController();
  const effects: string[] = [];
  const wrap = <T extends object>(port: T, of: readonly string[]): T => ({
    ...port,
    ...Object.fromEntries(
      of.map((name) => {
        const call = port[name as keyof T] as (...given: unknown[]) => Promise<unknown>;
        const wrapped = async (...given: unknown[]): Promise<unknown> => {
          killer.signal.throwIfAborted();
          const answer = await call(...given);
          if (killer.signal.aborted) return answer;
          effects.push(`${name} ${nameIn(given)}`);
          if (effects.length === dies) killer.abort(new Error('killed'));
          killer.signal.throwIfAborted();
          return answer;
        };
        return [name, wrapped];
      }),
    ),
  });
  const { kube } = site;
  const { inventory } = site.connect();
  return {
    effects,
    signal: killer.signal,
    ports: {
      kube: wrap(kube, effectsOf.kube),
      adminKube: wrap(kube, effectsOf.adminKube),
      inventory: wrap(inventory, effectsOf.inventory),
    },
  };
}

function nameIn(given: readonly unknown[]): string {
  const [first, second] = given as readonly {
    readonly name?: string;
    readonly metadata?: { readonly name: string };
    readonly stage?: string;
  }[];
  return (
    first?.name ??
    second?.metadata?.name ??
    second?.stage ??
    (typeof first === 'string' ? first : '')
  );
}

/** Runs controllers to the end of an installation; the first one is killed. */
async function runToEnd(ending: Ending, dies?: number) {
  const clock = fakeClock({ auto: false, start: Date.parse('2026-11-25T10:00:00Z') });
  const site = controllerSite({ requests, ending, now: clock.now });
  const run = (
    ports: Pick<ControllerPorts, 'kube' | 'adminKube' | 'inventory'>,
    signal: AbortSignal,
  ) =>
    runInstallation({
      config: {
        ...Config.parse({
          cluster: {
            id: site.store.cluster().id,
            openshiftVersion: '4.20.1',
            controlPlaneCount: 3,
          },
          service: { url: 'https://service.test' },
          controller: { checkClusterVersion: true },
        }),
        namespace: 'assisted-installer',
      },
      ...ports,
      clock,
      random: fakeRandom(),
      host: fakeHost(),
      emit: () => undefined,
      signal,
    }).then(
      () => 'ended',
      (error: unknown) => error,
    );
  const live = async (killedAt: number | undefined) => {
    const { ports, effects, signal } = mortal(site, killedAt);
    let end: unknown;
    const ended = run(ports, signal).then((how) => {
      end = how;
    });
    const began = clock.elapsed();
    while (end === undefined && !signal.aborted && clock.elapsed() - began < hours(2)) {
      await clock.advance(tickEvery);
      await settle(4);
      site.tick();
    }
    if (signal.aborted) await ended;
    return { effects, end };
  };
  const first = await live(dies);
  const last = dies === undefined ? first : await live(undefined);
  await clock.advance(minutes(10));
  site.tick();
  const inCluster = leftInCluster(site);
  // The state of a service that leaves depends on the time of the kill.
  const left = ending === 'agent-based' ? inCluster : { ...inCluster, ...leftAtService(site) };
  return { effects: first.effects, end: last.end, left };
}

/** The final state in the service, which must be the same after any kill. */
const leftAtService = ({ store }: Site) => ({
  status: store.cluster().status,
  hosts: store.hosts().map(({ hostname, stage }) => `${hostname} ${stage}`),
  operators: store.cluster().operators.map(({ name, status }) => `${name} ${status}`),
  results: [...new Set(store.completions().map(({ isSuccess }) => isSuccess))],
  hasIngressCa: store.cluster().hasIngressCa,
  logs: store.cluster().logsState,
});

/** The final state in the cluster. */
function leftInCluster({ kube }: Site) {
  const namesOf = (kind: typeof pods, prefix: string): readonly string[] =>
    kube
      .objectsOf(kind)
      .flatMap(({ metadata: { name } }) => (name.startsWith(prefix) ? [name] : []));
  const w0 = kube.objectsOf(nodes).find(({ metadata }) => metadata.name === 'w0');
  const [etcd] = kube.objectsOf(etcdCluster.kind);
  return {
    labels: w0?.metadata.labels,
    pools: kube
      .objectsOf(machineConfigPools)
      .map(({ spec, metadata: { annotations } }) => [spec, annotations]),
    metal: kube
      .objectsOf(bareMetalHosts)
      .map(({ spec, status, metadata: { annotations } }) => [spec, Boolean(status), annotations]),
    isOverridden: etcd === undefined || isOverridden(etcd),
    record: namesOf(configMaps, recordRef.name),
    applied: namesOf(configMaps, 'of-'),
    approved: kube.writes.flatMap(({ subresource, name }) =>
      subresource === 'approval' ? [name] : [],
    ),
    ours: [pods, secrets, serviceAccounts, clusterRoleBindings]
      .flatMap((kind) => namesOf(kind, 'assisted-installer-'))
      .filter((name) => !name.startsWith('assisted-installer-controller')),
  };
}

describe('a controller that is killed after any of its effects', () => {
  it.each([
    ['installed', 30],
    ['error', 30],
    ['agent-based', 12],
  ] as const)(
    'is continued by the next one in a cluster that ends as %s',
    async (ending, least) => {
      const whole = await runToEnd(ending);
      expect(whole.end).toBe('ended');
      expect(whole.effects.length).toBeGreaterThan(least);
      for (let dies = 1; dies <= whole.effects.length; dies += 1) {
        const { end, left } = await runToEnd(ending, dies);
        const where = `killed after ${whole.effects[dies - 1]} (${dies})`;
        expect(end, where).toBe('ended');
        expect(left, where).toEqual(whole.left);
      }
    },
  );
});
