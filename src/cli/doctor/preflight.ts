import { noJournal } from '../../adapters/journal.ts';
import type { Config } from '../../config/schema.ts';
import type { RunEvent } from '../../engine/events.ts';
import type { NeedsOf } from '../../engine/fact.ts';
import { asAgentError } from '../../engine/failures.ts';
import { mainLine, type Role } from '../../engine/role.ts';
import { runRole } from '../../engine/run.ts';
import type { AnyStep } from '../../engine/step.ts';
import { minutes } from '../../model/duration.ts';
import { version } from '../../model/version.ts';
import type { Ports } from '../../ports/ports.ts';
import { writesDisk } from '../../steps/conditions.ts';
import { TargetDisk } from '../../steps/disk/facts.ts';
import { refuseWipes } from '../../steps/disk/kept.ts';
import { mayKeepPartitions } from '../../steps/disk/writer-args.ts';
import { readHostIgnition } from '../../steps/ignition/fetch-host.ts';
import { checkInputs, ignitionIn } from '../../steps/image/choose.ts';
import { type InstallWorld, step } from '../../steps/step.ts';
import { type CheckAnswer, failedBy, type HostFinding, type NetworkScope, ok } from './check.ts';

type Step = AnyStep<InstallWorld>;

/** Inputs of a run of the steps of a role that only read. */
export interface PreflightRun {
  readonly role: Role<InstallWorld>;
  readonly config: Config;
  readonly ports: Ports;
  readonly signal: AbortSignal;
  readonly hide: NetworkScope['hide'];
}

/** The run reads an image file of several GB to its end for its digest. */
const limit = minutes(5);

/** The check of the saved Ignition that an install makes. */
const checkKept = step({
  id: checkInputs.id,
  title: 'Check that Ignition keeps what the writer keeps',
  uses: ['host', 'inventory', 'objects', 'web'],
  needs: { disk: TargetDisk },
  when: writesDisk,
  effect: 'reads',
  limit,
  run: async (scope, { disk }) => {
    const { config, host, signal, note } = scope;
    if (disk.kept === undefined) return;
    const own = ignitionIn(config.image.writerArgs);
    const ignition = await (
      own === undefined
        ? readHostIgnition(scope).then(({ bytes }) => bytes)
        : host.readText(own, signal)
    ).catch(() => undefined);
    signal.throwIfAborted();
    if (ignition === undefined) {
      const hint = 'see what is found of Ignition';
      note('warn', 'not known: the Ignition of this host cannot be read', { hint });
      return;
    }
    await refuseWipes(scope, disk, ignition);
    note('info', 'Ignition of this host wipes no kept partition; what it fetches is not known');
  },
});

/**
 * Runs the steps of a role that only read, as an install would before it changes the host. After a
 * failed step, steps that do not need its facts still run.
 */
export async function checkPreflight(given: PreflightRun): Promise<readonly HostFinding[]> {
  const found = new Map<string, CheckAnswer>();
  const steps: readonly Step[] = [
    ...mainLine(given.role).flatMap(({ step: one }) => (one.effect === 'reads' ? [one] : [])),
    ...(mayKeepPartitions(given.config.image.writerArgs) ? [checkKept] : []),
  ];
  let left = steps;
  for (;;) {
    const failed = await runUntilFailure(given, left, found);
    if (failed === undefined) break;
    left = stepsWithout(failed, left, found);
  }
  return steps.flatMap(({ id }) => {
    const answer = found.get(id);
    return answer === undefined ? [] : [{ check: id, ...answer }];
  });
}

/**
 * The steps that can run without the facts of a failed step. For each of the others, sets which
 * fact is missing.
 */
function stepsWithout(
  failed: Step,
  steps: readonly Step[],
  found: Map<string, CheckAnswer>,
): readonly Step[] {
  const factOf = ({ gives }: Step) => (gives as { readonly name?: string } | undefined)?.name;
  const lost = new Map([[factOf(failed), failed.id]]);
  return steps.filter((one) => {
    if (one === failed) return false;
    const needs = Object.values((one.needs ?? {}) as NeedsOf);
    const missing = needs.find(({ name }) => lost.has(name));
    if (missing === undefined) return true;
    lost.set(factOf(one), one.id);
    const says = `needs what ${lost.get(missing.name)} finds`;
    found.set(one.id, { state: 'not checked', says });
    return false;
  });
}

/**
 * Runs steps until one fails, and resolves with the failed step. Sets the answer of each step in
 * `found`.
 */
async function runUntilFailure(
  { role, config, ports, signal, hide }: PreflightRun,
  steps: readonly Step[],
  found: Map<string, CheckAnswer>,
): Promise<Step | undefined> {
  let running: Step | undefined;
  const late = AbortSignal.timeout(limit);
  try {
    await runRole({
      role: { ...role, steps, follow: [], always: [] },
      config,
      ports,
      clock: ports.clock,
      journal: noJournal,
      run: 'doctor',
      sinks: [
        (event) => {
          if (event.type === 'step.started') {
            running = steps.find(({ id }) => id === event.step);
            // After a failed run, this step runs again and reports the same notes.
            found.delete(event.step);
          }
          if (event.type === 'note') found.set(event.step, noted(event, found.get(event.step)));
          if (event.type === 'step.finished' && found.get(event.step)?.state !== 'warning') {
            const says = explained(running, config) ?? found.get(event.step)?.says;
            found.set(event.step, ok(says ?? running?.title ?? ''));
          }
        },
      ],
      hide,
      header: { version, fingerprint: 'none', bootId: 'none' },
      signal: AbortSignal.any([signal, late]),
    });
    return undefined;
  } catch (thrown) {
    signal.throwIfAborted();
    if (running === undefined) throw thrown;
    const says = `not known after ${limit / minutes(1)} min`;
    const hint = 'see what holds it up; an installation would wait longer';
    found.set(running.id, late.aborted ? { state: 'failed', says, hint } : failedBy(thrown));
    return running;
  }
}

/** Appends a note of a step to its earlier notes; a warning replaces notes of other levels. */
function noted(
  { level, message, fields }: Extract<RunEvent, { type: 'note' }>,
  earlier: CheckAnswer | undefined,
): CheckAnswer {
  const isWarning = level === 'warn';
  if (earlier?.state === 'warning' && !isWarning) return earlier;
  const before = isWarning && earlier?.state !== 'warning' ? undefined : earlier?.says;
  const says = before === undefined ? message : `${before}; ${message}`;
  if (!isWarning) return ok(says);
  const hint = fields['hint'] ?? fields['reason'];
  return { state: 'warning', says, ...(typeof hint === 'string' ? { hint } : {}) };
}

function explained(step: Step | undefined, config: Config): string | undefined {
  try {
    return step?.explain?.(config);
  } catch (thrown) {
    return asAgentError(thrown).message;
  }
}
