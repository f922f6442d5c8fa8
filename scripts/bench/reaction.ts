import { rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../../src/adapters/clock.ts';
import { nsenterHost } from '../../src/adapters/host/nsenter-host.ts';
import { nodes } from '../../src/cluster/kinds.ts';
import { type PollResult, silently, untilOf, type WaitLimits } from '../../src/engine/wait.ts';
import { conditionOf } from '../../src/layering/api/cluster-object.ts';
import { minutes } from '../../src/model/duration.ts';
import { unitState, unitWatch } from '../../src/steps/host/systemd-unit.ts';
import { clusterOf } from '../../test/kube/rig.ts';
import { startRig } from '../rig.ts';
import { type Findings, found, percentile } from './figure.ts';
import { openStage, pause, secondsSince } from './process.ts';

const samples = 500;
const node = 'm0';

/** How soon a condition of a node that became true is acted on. */
export async function measureKubeReaction(): Promise<Findings> {
  await using rig = await startRig({ crds: [] });
  await rig.client.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: node } });
  const kube = clusterOf(rig.kubeconfig);
  const stop = new AbortController();
  let heard: (mark: string) => void = () => undefined;
  const ended = kube.follow(
    { kind: nodes },
    ({ objects }) => heard(conditionOf(objects[0], 'Ready').reason),
    stop.signal,
  );
  // From sending the change to the call of whoever follows.
  const times = await sampled(samples, async (index) => {
    const mark = `w${index}`;
    const { promise, resolve } = Promise.withResolvers<number>();
    const since = performance.now();
    heard = (seen) => {
      if (seen === mark) resolve(secondsSince(since));
    };
    const conditions = [{ type: 'Ready', status: 'True', reason: mark }];
    await rig.client.mergeStatus({ kind: nodes, name: node }, { conditions });
    return promise;
  });
  stop.abort(new Error('measured'));
  await ended;
  await kube.close();
  return found([
    ['a condition of the cluster to the reaction, 99 of 100', 's', percentile(times, 99), 0.1],
  ]);
}

/** Samples one after the other; the first one warms up, and is not counted. */
async function sampled(
  count: number,
  sample: (index: number) => Promise<number>,
): Promise<readonly number[]> {
  const times: number[] = [];
  for (let index = 0; index <= count; index += 1) times.push(await sample(index));
  return times.slice(1);
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
  await using stage = await openStage('master');
  const { folder, environment, machine } = stage.host;
  const root = join(folder, 'root');
  const path = join(root, directory, 'done');
  await mkdir(join(root, directory), { recursive: true });
  const host = nsenterHost({ root, environment });
  // What bootkube shows by: a file that comes. The look is that of the wait for it.
  const file: Condition = {
    poll: async () => {
      const names = await host.list(directory, signal);
      return names.includes('done') ? { done: true } : { status: 'not there' };
    },
    makeTrue: () => writeFileSync(path, ''),
    makeFalse: () => rmSync(path),
  };
  const files = await timesOf(fileSamples, file, {
    within,
    watch: (changed, quiet) => host.watch([`${directory}/done`], changed, quiet),
  });
  const { units } = machine;
  units.become(unit, 'active');
  const commands = await sampled(unitSamples, async () => {
    const since = performance.now();
    await unitState(host, unit, signal);
    return secondsSince(since);
  });
  // What the bootstrap is complete by: a unit that ends.
  const started: Condition = {
    poll: async () => {
      const state = await unitState(host, unit, signal);
      return state === 'inactive' ? { done: true } : { status: state };
    },
    makeTrue: () => units.become(unit, 'inactive'),
    makeFalse: () => units.become(unit, 'active'),
  };
  const watch = unitWatch(host, [unit]);
  const ends = await timesOf(unitSamples, started, { within, watch, every: within });
  const measured = percentile(commands, 50);
  const bare = { name: 'one command by the stand-in of nsenter', measured };
  return found([
    ['a file of the host to the end of the wait, 99 of 100', 's', percentile(files, 99), 0.05],
    ['a unit of the host to the end of the wait', 's', percentile(ends, 50), 3, bare],
  ]);
}

/** So long after the last poll the watch has begun, and reports nothing of its beginning any more. */
const calm = 60;

/** From the change to the end of each wait, in seconds. */
const timesOf = (count: number, { poll, makeTrue, makeFalse }: Condition, limits: WaitLimits) =>
  sampled(count, async () => {
    let quietSince = Number.POSITIVE_INFINITY;
    const pollOnce = async (): Promise<PollResult<true>> => {
      quietSince = Number.POSITIVE_INFINITY;
      try {
        return await poll();
      } finally {
        quietSince = performance.now();
      }
    };
    const done = until('it has happened', pollOnce, limits);
    while (performance.now() - quietSince < calm) await pause(5);
    const since = performance.now();
    makeTrue();
    await done;
    const taken = secondsSince(since);
    makeFalse();
    return taken;
  });

const until = untilOf(systemClock, signal, silently);
