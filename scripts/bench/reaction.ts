import { rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Units } from '../../mocks/host/units.ts';
import type { Kube as Rig } from '../../mocks/kube/start.ts';
import { openSingleHost } from '../../mocks/lab/single-host.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import { nsenterHost } from '../../src/adapters/host/nsenter-host.ts';
import { type KubeCluster, kubeCluster } from '../../src/adapters/kube/kube.ts';
import { systemRandom } from '../../src/adapters/random.ts';
import { nodes } from '../../src/cluster/kinds.ts';
import { type PollResult, silently, untilOf, type WaitLimits } from '../../src/engine/wait.ts';
import { minutes } from '../../src/model/duration.ts';
import type { Host } from '../../src/ports/host.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import { unitState, unitWatch } from '../../src/steps/host/systemd-unit.ts';
import { startRig } from '../rig.ts';
import { type Findings, found, median, percentile } from './figure.ts';
import { pause } from './process.ts';

const samples = 500;
const node = 'm0';

/** How soon a condition of a node that became true is acted on. */
export async function measureKubeReaction(): Promise<Findings> {
  await using rig = await startRig({ crds: [] });
  await rig.client.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: node } });
  const kube = kubeCluster({
    credentials: () => Promise.resolve(rig.kubeconfig),
    clock: systemClock,
    random: systemRandom,
    emit: () => undefined,
  });
  const watched = await watchedTimes(rig, kube);
  await kube.close();
  return found([
    ['a condition of the cluster to the reaction, 99 of 100', 's', percentile(watched, 99), 0.1],
  ]);
}

/** From sending the change to the call of whoever follows, in seconds. */
async function watchedTimes(rig: Rig, kube: KubeCluster): Promise<readonly number[]> {
  const stop = new AbortController();
  let heard: (mark: string) => void = () => undefined;
  const ended = kube.follow({ kind: nodes }, (view) => heard(markIn(view.objects)), stop.signal);
  const times: number[] = [];
  // The first one waits for the list and is not counted.
  for (let index = 0; index <= samples; index += 1) {
    const mark = `w${index}`;
    const { promise, resolve } = Promise.withResolvers<number>();
    heard = (seen) => {
      if (seen === mark) resolve(performance.now());
    };
    const since = performance.now();
    await setMark(rig, mark);
    const at = await promise;
    if (index > 0) times.push((at - since) / 1000);
  }
  stop.abort(new Error('measured'));
  await ended;
  return times;
}

const setMark = (rig: Rig, mark: string): Promise<unknown> =>
  rig.client.mergeStatus(
    { kind: nodes, name: node },
    { conditions: [{ type: 'Ready', status: 'True', reason: mark }] },
  );

interface Conditions {
  readonly conditions?: readonly { readonly reason?: string }[];
}

function markIn(objects: readonly KubeObject[]): string {
  const { conditions } = (objects[0]?.['status'] ?? {}) as Conditions;
  return conditions?.[0]?.reason ?? '';
}

const fileSamples = 300;
const unitSamples = 100;
const within = minutes(1);
const directory = '/opt/openshift';
const unit = 'bench.service';
const { signal } = new AbortController();

/** Something on the host that a wait waits for. */
interface Condition {
  readonly poll: () => Promise<PollResult<true>>;
  readonly makeTrue: () => void;
  readonly makeFalse: () => void;
}

/** How soon a file or a unit of the host is acted on. */
export async function measureLocalReaction(): Promise<Findings> {
  await using single = await openSingleHost({
    role: 'master',
    isControlPlaneDone: false,
    write: {},
    token: 'bench',
  });
  const root = join(single.folder, 'root');
  await mkdir(join(root, directory), { recursive: true });
  const host = nsenterHost({ root, environment: single.environment });
  const file = fileCondition(host, root, 'done');
  const started = unitCondition(host, single.machine.units, unit);
  const files = await timesOf(fileSamples, file, {
    within,
    watch: (changed, quiet) => host.watch([`${directory}/done`], changed, quiet),
  });
  const commands = await commandTimes(host);
  const watch = unitWatch(host, [unit]);
  const units = await timesOf(unitSamples, started, { within, watch, every: within });
  const bare = { name: 'one command by the stand-in of nsenter', measured: median(commands) };
  return found([
    ['a file of the host to the end of the wait, 99 of 100', 's', percentile(files, 99), 0.05],
    ['a unit of the host to the end of the wait', 's', median(units), 3, bare],
  ]);
}

/** What bootkube shows by: a file that comes. The look is that of the wait for it. */
const fileCondition = (host: Host, root: string, name: string): Condition => ({
  poll: async () => {
    const names = await host.list(directory, signal);
    return names.includes(name) ? { done: true } : { status: 'not there' };
  },
  makeTrue: () => writeFileSync(join(root, directory, name), ''),
  makeFalse: () => rmSync(join(root, directory, name)),
});

/** What the bootstrap is complete by: a unit that ends. */
const unitCondition = (host: Host, units: Units, name: string): Condition => {
  units.become(name, 'active');
  return {
    poll: async () => {
      const state = await unitState(host, name, signal);
      return state === 'inactive' ? { done: true } : { status: state };
    },
    makeTrue: () => units.become(name, 'inactive'),
    makeFalse: () => units.become(name, 'active'),
  };
};

/** From the change to the end of each wait, in seconds. */
async function timesOf(
  samples: number,
  condition: Condition,
  limits: WaitLimits,
): Promise<readonly number[]> {
  const times: number[] = [];
  // The first one warms up and is not counted.
  for (let index = 0; index <= samples; index += 1) {
    const taken = await timeOf(condition, limits);
    if (index > 0) times.push(taken);
    condition.makeFalse();
  }
  return times;
}

async function timeOf({ poll, makeTrue }: Condition, limits: WaitLimits): Promise<number> {
  const quiet = quietness();
  const done = until('it has happened', () => quiet.during(poll), limits);
  await quiet.settled();
  const since = performance.now();
  makeTrue();
  await done;
  return (performance.now() - since) / 1000;
}

const until = untilOf(systemClock, signal, silently);

/** So long after the last poll the watch has begun, and reports nothing of its beginning any more. */
const calm = 60;

interface Quietness {
  readonly during: <T>(poll: () => Promise<T>) => Promise<T>;
  /** Resolves when there was a look, and then none for a while. */
  readonly settled: () => Promise<void>;
}

function quietness(): Quietness {
  let under = 0;
  let last = Number.POSITIVE_INFINITY;
  return {
    during: async (poll) => {
      under += 1;
      try {
        return await poll();
      } finally {
        under -= 1;
        last = performance.now();
      }
    },
    settled: async () => {
      while (under > 0 || performance.now() - last < calm) await pause(5);
    },
  };
}

async function commandTimes(host: Host): Promise<readonly number[]> {
  const times: number[] = [];
  for (let index = 0; index < unitSamples; index += 1) {
    const since = performance.now();
    await unitState(host, unit, signal);
    times.push((performance.now() - since) / 1000);
  }
  return times;
}
