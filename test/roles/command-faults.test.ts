import { describe, expect, it } from 'vitest';
import { minutes } from '../../src/model/duration.ts';
import { AgentError } from '../../src/model/failure.ts';
import { commandName } from './command-name.ts';
import { cornerOf } from './corners.ts';
import { type FaultHost, faultHosts } from './fault-hosts.ts';
import { begin, end, type Kept, plannedSteps, runProcess } from './fault-processes.ts';
import { type CommandFault, commandFaults, type FaultOf } from './faulty-host.ts';

interface Place {
  readonly step: string;
  readonly command: string;
}

/** Each command of a step runs with its faults on the first host that has it. */
const seen = new Set<string>();

describe.each(faultHosts)('$name', (faultHost) => {
  it('ends with the cause, or continues without, at each fault of a command', async () => {
    const places: Place[] = [];
    const kept = begin(faultHost);
    const { error } = await runProcess(faultHost, kept, {
      faultOf: (step, argv) => {
        const place = { step, command: commandName(argv) };
        const name = `${step}: ${place.command}`;
        if (!seen.has(name)) places.push(place);
        seen.add(name);
        return undefined;
      },
    });
    end(kept);
    expect((error as AgentError | undefined)?.code).toBe(faultHost.code);
    expect(await violationsOn(faultHost, places)).toEqual([]);
  });
});

/**
 * Runs the faults of a host's commands one by one; returns the results that no operator should see.
 */
async function violationsOn(
  faultHost: FaultHost,
  places: readonly Place[],
): Promise<readonly string[]> {
  const violations: string[] = [];
  let kept: Kept | undefined;
  for (const place of places) {
    for (const fault of commandFaults) {
      const isFirst = kept === undefined;
      let ran = await runWith(faultHost, (kept ??= begin(faultHost)), { place, fault });
      // The next process repeats the failed work, and may be past the command.
      if (!isFirst && !ran.isMet) {
        end(kept);
        kept = begin(faultHost);
        ran = await runWith(faultHost, kept, { place, fault });
      }
      violations.push(...ran.violations);
      if (!ran.isOver && faultHost.chains === true) continue;
      end(kept);
      kept = undefined;
    }
  }
  if (kept !== undefined) end(kept);
  return violations;
}

/** A step undoes its changes even after its limit. */
const longestUndo = minutes(6);

/** Runs a process whose command has a fault, and checks the end of its step. */
async function runWith(
  faultHost: FaultHost,
  kept: Kept,
  { place, fault }: { readonly place: Place; readonly fault: CommandFault },
) {
  const faultOf: FaultOf = (step, argv) =>
    step === place.step && commandName(argv) === place.command ? fault : undefined;
  const life = await runProcess(faultHost, kept, { faultOf, until: place.step });
  const { hasPassed, took } = life;
  const attempts = life.events.filter(
    (event) => event.type === 'step.started' && event.step === place.step,
  ).length;
  const limit = plannedSteps(faultHost.host.config).find(({ id }) => id === place.step)?.limit ?? 0;
  // An error that ends the run on this host without a fault too is not an effect of the fault.
  const isOver = hasPassed || (life.error as AgentError | undefined)?.code === faultHost.code;
  const wrong = isOver ? [] : wrongWith(life.error, { place, fault, attempts });
  if (took !== undefined && took > limit + longestUndo) wrong.push(`took ${took} ms`);
  return {
    violations: wrong.map((what) => `${place.step}: ${place.command}: ${fault}: ${what}`),
    isMet: took !== undefined,
    isOver,
  };
}

/** The information that a person would miss in the failure after a command's fault. */
function wrongWith(
  error: unknown,
  {
    place,
    fault,
    attempts,
  }: { readonly place: Place; readonly fault: CommandFault; readonly attempts: number },
): string[] {
  if (!(error instanceof AgentError)) return [`no coded failure: ${String(error)}`];
  const { code, hint } = error;
  const program = place.command.split(/[: ]/)[0] ?? '';
  return [
    ...(hint === '' ? [`${code} has no next step`] : []),
    ...(code.startsWith('command.') && !error.message.includes(program)
      ? [`${code} does not name the program: ${error.message}`]
      : []),
    // It would hang for as long again.
    ...(fault === 'hangs' && code === 'command.timed-out' && attempts > 1
      ? [`tried ${attempts} times`]
      : []),
  ];
}

describe('a worker', () => {
  const worker: FaultHost = { name: 'worker', host: { config: cornerOf('worker', {}), plan: {} } };

  it.each([
    ['disk/resolve: lsblk', 'missing', 'command.not-found', 1],
    ['disk/resolve: lsblk', 'fails', 'command.failed', 1],
    ['disk/resolve: lsblk', 'hangs', 'command.timed-out', 1],
    ['disk/resolve: lsblk', 'garbage', 'disk.unreadable', 1],
    ['image/write: coreos-installer', 'missing', 'command.not-found', 3],
    ['image/write: coreos-installer', 'fails', 'image.writer-failed', 3],
    ['image/write: coreos-installer', 'hangs', 'image.stalled', 1],
    ['finish/leave-host: shutdown', 'fails', 'command.failed', 1],
  ] as const)('cannot do without %s, which %s', async (name, fault, code, attempts) => {
    const kept = begin(worker);
    const { error, events } = await runProcess(worker, kept, {
      faultOf: (step, argv) => (`${step}: ${commandName(argv)}` === name ? fault : undefined),
    });
    end(kept);
    expect(error).toMatchObject({ code });
    expect(
      events.filter((event) => event.type === 'step.started' && name.startsWith(event.step)),
    ).toHaveLength(attempts);
  });

  it.each([
    ['disk/set-boot-entry: efibootmgr -c', 'fails', 'boot.not-set'],
    ['disk/set-boot-entry: efibootmgr -v', 'missing', 'command.not-found'],
  ] as const)('warns of what it does without: %s, which %s', async (name, fault, code) => {
    const kept = begin(worker);
    const { error, events } = await runProcess(worker, kept, {
      faultOf: (step, argv) => (`${step}: ${commandName(argv)}` === name ? fault : undefined),
    });
    end(kept);
    expect(error).toBeUndefined();
    const warned = events.flatMap((event) =>
      event.type === 'note' && event.level === 'warn' ? [event.fields['code']] : [],
    );
    expect(warned).toContain(code);
  });
});
