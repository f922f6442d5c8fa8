import { noJournal } from '../../adapters/journal.ts';
import type { Config } from '../../config/schema.ts';
import type { RunEvent, Sink } from '../../engine/events.ts';
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

/** What the steps are run with. */
export interface PreflightRun {
  readonly role: Role<InstallWorld>;
  readonly config: Config;
  readonly ports: Ports;
  readonly signal: AbortSignal;
  readonly hide: NetworkScope['hide'];
}

/** An image file of some GB is read to its end for its digest. */
const limit = minutes(5);

/** What an install asks of the Ignition that it has saved by then. */
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

/** Facts that a step cannot do without. */
const needed = ({ needs = {} }: Step): readonly string[] =>
  Object.values(needs as NeedsOf).map(({ name }) => name);

/**
 * Runs the steps of a role that only read, as an install would before it touches the host. A step
 * that fails does not keep those from being run that need nothing of it.
 */
export async function checkPreflight(given: PreflightRun): Promise<readonly HostFinding[]> {
  const found = new Map<string, CheckAnswer>();
  const steps: readonly Step[] = [
    ...mainLine(given.role).flatMap(({ step: one }) => (one.effect === 'reads' ? [one] : [])),
    ...(mayKeepPartitions(given.config.image.writerArgs) ? [checkKept] : []),
  ];
  let left = steps;
  for (;;) {
    const failure = await runOnce({ ...given, role: { ...given.role, steps: left } }, found);
    if (failure === undefined) break;
    found.set(failure.step.id, failure.answer);
    left = without(left, failure.step, found);
  }
  return steps.flatMap(({ id }) => {
    const answer = found.get(id);
    return answer === undefined ? [] : [{ check: id, ...answer }];
  });
}

/** The steps that can run although one failed. */
function without(
  steps: readonly Step[],
  failed: Step,
  found: Map<string, CheckAnswer>,
): readonly Step[] {
  const lost = new Set<string>();
  const by = new Map<string, string>();
  const lose = (step: Step): void => {
    const { name = '' } = (step.gives ?? {}) as { readonly name?: string };
    lost.add(name);
    by.set(name, step.id);
  };
  lose(failed);
  return steps.filter((step) => {
    if (step === failed) return false;
    const missing = needed(step).find((name) => lost.has(name));
    if (missing === undefined) return true;
    lose(step);
    const says = `needs what ${by.get(missing) ?? failed.id} finds`;
    found.set(step.id, { state: 'not checked', says });
    return false;
  });
}

/** Runs steps until one fails, and says of each before it what it found. */
async function runOnce(
  { role, config, ports, signal, hide }: PreflightRun,
  found: Map<string, CheckAnswer>,
): Promise<{ readonly step: Step; readonly answer: CheckAnswer } | undefined> {
  const steps = mainLine(role).map(({ step }) => step);
  let running: string | undefined;
  const listen: Sink = (event) => {
    if (event.type === 'step.started') running = event.step;
    const answer = answerOf(event, { steps, config }, found);
    if (answer !== undefined && 'step' in event) found.set(event.step, answer);
  };
  const late = AbortSignal.timeout(limit);
  try {
    await runRole({
      role: { ...role, follow: [], always: [] },
      config,
      ports,
      clock: ports.clock,
      journal: noJournal,
      run: 'doctor',
      sinks: [listen],
      hide,
      header: { version, fingerprint: 'none', bootId: 'none' },
      signal: AbortSignal.any([signal, late]),
    });
    return undefined;
  } catch (thrown) {
    signal.throwIfAborted();
    const step = steps.find(({ id }) => id === running);
    if (step === undefined) throw thrown;
    const says = `not known after ${limit / minutes(1)} min`;
    const hint = 'see what holds it up; an installation would wait longer';
    return { step, answer: late.aborted ? { state: 'failed', says, hint } : failedBy(thrown) };
  }
}

function answerOf(
  event: RunEvent,
  { steps, config }: { readonly steps: readonly Step[]; readonly config: Config },
  found: ReadonlyMap<string, CheckAnswer>,
): CheckAnswer | undefined {
  if (event.type !== 'step.finished' && event.type !== 'note') return undefined;
  const earlier = found.get(event.step);
  if (event.type === 'note' && event.level === 'warn') return warned(event, earlier);
  if (earlier?.state === 'warning') return earlier;
  if (event.type === 'note') return ok(joined(earlier, event.message));
  const step = steps.find(({ id }) => id === event.step);
  return ok(explained(step, config) ?? earlier?.says ?? titleOf(step));
}

const titleOf = (step: Step | undefined): string => step?.title ?? '';

const joined = (earlier: CheckAnswer | undefined, message: string): string =>
  earlier === undefined ? message : `${earlier.says}; ${message}`;

/** A warning of a step, with what it warned of before. */
function warned(
  { message, fields }: Pick<Extract<RunEvent, { type: 'note' }>, 'message' | 'fields'>,
  earlier: CheckAnswer | undefined,
): CheckAnswer {
  const more = fields['hint'] ?? fields['reason'];
  return {
    state: 'warning',
    says: joined(earlier?.state === 'warning' ? earlier : undefined, message),
    ...(typeof more === 'string' ? { hint: more } : {}),
  };
}

function explained(step: Step | undefined, config: Config): string | undefined {
  try {
    return step?.explain?.(config);
  } catch (thrown) {
    return asAgentError(thrown).message;
  }
}
