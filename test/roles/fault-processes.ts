import { rmSync } from 'node:fs';
import { describeRole, type PlannedStep } from '../../src/engine/describe.ts';
import type { Config } from '../../src/config/schema.ts';
import type { Millis } from '../../src/model/duration.ts';
import { chooseRole } from '../../src/roles/choose.ts';
import { type MemoryJournal, memoryJournal } from '../support/memory-journal.ts';
import type { FaultHost } from './fault-hosts.ts';
import { faultyHost, type FaultOf, workClock } from './faulty-host.ts';
import { type Life, live } from './processes.ts';
import { withStepHosts } from './step-hosts.ts';
import { newWorld, type World } from './world.ts';

/** Every step of the role in a configuration. */
export function plannedSteps(config: Config): readonly PlannedStep[] {
  const { items, always, follow } = describeRole(chooseRole(config), config);
  const main = items.flatMap((item) =>
    item.kind === 'step' ? [item.step] : item.lanes.flatMap(({ steps }) => steps),
  );
  return [...main, ...always, ...follow];
}

/** A host with the state that it keeps between processes. */
export interface Kept {
  readonly world: World;
  readonly journal: MemoryJournal;
}

/** A host before its first process. */
export const begin = ({ host, prepare = (world) => world }: FaultHost): Kept => ({
  world: prepare(newWorld(host)),
  journal: memoryJournal(),
});

/** Removes a host. */
export function end({ world: { machine } }: Kept): void {
  machine.units.reset([], []);
  rmSync(machine.files.root, { recursive: true });
}

/** A process, and its encounter with a fault. */
interface FaultyLife extends Life {
  /** It was stopped because the awaited step had finished. */
  readonly hasPassed: boolean;
  /** Time from the first fault to the end; undefined without a fault. */
  readonly took: Millis | undefined;
}

/** Runs one process on a host, until a step has finished or to its end. */
export async function runProcess(
  { host }: FaultHost,
  { world, journal }: Kept,
  { faultOf, until }: { readonly faultOf: FaultOf; readonly until?: string },
): Promise<FaultyLife> {
  const clock = workClock();
  let since: Millis | undefined;
  const stop = new AbortController();
  const life = await live(world, {
    config: host.config,
    journal,
    commands: 1e6,
    time: clock,
    signal: stop.signal,
    heard: (event) => {
      if (event.type === 'step.finished' && event.step === until) stop.abort(new Error('enough'));
    },
    changed: (role) =>
      // A step does not depend on the work after a failure.
      withStepHosts(until === undefined ? role : { ...role, always: [] }, (step, own) =>
        faultyHost(own, {
          step,
          clock,
          faultOf: (by, argv) => {
            const fault = faultOf(by, argv);
            if (fault !== undefined) since ??= clock.elapsed();
            return fault;
          },
        }),
      ),
  });
  const took = since === undefined ? undefined : clock.elapsed() - since;
  return { ...life, hasPassed: stop.signal.aborted, took };
}
