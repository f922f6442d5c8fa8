import { rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Units } from '../../mocks/host/units.ts';
import { openSingleHost } from '../../mocks/lab/single-host.ts';
import { systemClock } from '../../src/adapters/clock.ts';
import { nsenterHost } from '../../src/adapters/host/nsenter-host.ts';
import { type Look, silently, untilOf, type WaitLimits } from '../../src/engine/wait.ts';
import { minutes } from '../../src/model/duration.ts';
import type { Host } from '../../src/ports/host.ts';
import { unitState, unitWatch } from '../../src/steps/cluster/systemd-unit.ts';
import { type Figure, median, percentile } from './figure.ts';
import { pause } from './stage.ts';

const fileSamples = 300;
const unitSamples = 100;
const within = minutes(1);
const directory = '/opt/openshift';
const unit = 'bench.service';
const command = 'npm run bench -- local-reaction';
const { signal } = new AbortController();

/** Something on the host that a wait waits for. */
interface Condition {
  readonly look: () => Promise<Look<true>>;
  readonly makeTrue: () => void;
  readonly makeFalse: () => void;
}

/** How soon a file or a unit of the host is acted on. */
export async function measureLocalReaction(): Promise<readonly Figure[]> {
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
  return [
    {
      name: 'a file of the host to the end of the wait, 99 of 100',
      unit: 's',
      measured: percentile(files, 99),
      bound: 0.05,
      command,
    },
    {
      name: 'a unit of the host to the end of the wait',
      unit: 's',
      measured: median(units),
      baseline: {
        name: 'one command by the stand-in of nsenter',
        measured: median(commands),
      },
      bound: 3,
      command,
    },
  ];
}

/** What bootkube shows by: a file that comes. The look is that of the wait for it. */
const fileCondition = (host: Host, root: string, name: string): Condition => ({
  look: async () => {
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
    look: async () => {
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

async function timeOf({ look, makeTrue }: Condition, limits: WaitLimits): Promise<number> {
  const quiet = quietness();
  const done = until('it has happened', () => quiet.during(look), limits);
  await quiet.settled();
  const since = performance.now();
  makeTrue();
  await done;
  return (performance.now() - since) / 1000;
}

const until = untilOf(systemClock, signal, silently);

/** So long after the last look the watch stands, and nothing of its beginning is heard any more. */
const calm = 60;

interface Quietness {
  readonly during: <T>(look: () => Promise<T>) => Promise<T>;
  /** Resolves when there was a look, and then none for a while. */
  readonly settled: () => Promise<void>;
}

function quietness(): Quietness {
  let under = 0;
  let last = Number.POSITIVE_INFINITY;
  return {
    during: async (look) => {
      under += 1;
      try {
        return await look();
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
