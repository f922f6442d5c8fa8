import { isActive } from './condition.ts';
import { type JournalEntry, type JournalHeader, parseJournal } from './journal.ts';
import { mainLine, type Role } from './role.ts';
import type { AnyStep, World } from './step.ts';

/** The last entry of a journal for a step. */
export type StepRecord =
  { readonly state: 'finished'; readonly fact: unknown } | { readonly state: 'begun' };

/** State of each step in an earlier run. */
export type StepRecords = ReadonlyMap<string, StepRecord>;

/** Whether a run can resume with a journal, and the difference if it cannot. */
export type ResumeDecision =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'set-aside'; readonly because: string }
  | { readonly kind: 'resume'; readonly past: StepRecords };

/** Compares a journal with the run that is about to start. */
export function decideResume(lines: readonly string[], header: JournalHeader): ResumeDecision {
  if (lines.length === 0) return { kind: 'fresh' };
  const found = parseJournal(lines);
  if (found === undefined) return { kind: 'set-aside', because: 'the journal has no header' };
  const difference = headerDifference(found.header, header);
  if (difference !== undefined) return { kind: 'set-aside', because: difference };
  return { kind: 'resume', past: pastOf(found.entries) };
}

function headerDifference(found: JournalHeader, wanted: JournalHeader): string | undefined {
  if (found.bootId !== wanted.bootId) return 'the host has rebooted since';
  if (found.role !== wanted.role) return `the journal belongs to role ${found.role}`;
  if (found.fingerprint !== wanted.fingerprint) return 'the configuration has changed';
  if (found.version !== wanted.version) return `the journal is of version ${found.version}`;
  return undefined;
}

function pastOf(entries: readonly JournalEntry[]): StepRecords {
  const past = new Map<string, StepRecord>();
  for (const entry of entries) {
    if (entry.type === 'finished') past.set(entry.step, { state: 'finished', fact: entry.fact });
    else past.set(entry.step, { state: 'begun' });
  }
  return past;
}

/** Whether a run has reached a step of its role that destroys. */
export const hasDestroyed = <W extends World>(
  role: Pick<Role<W>, 'steps'>,
  past: StepRecords,
): boolean => mainLine(role).some(({ step }) => step.effect === 'destroys' && past.has(step.id));

/**
 * The rule for resuming. Before the first step that destroys, all steps run again, since their
 * facts may have changed; after it, a finished step is reused. A step that leaves the host runs
 * again if its run has come back: the reboot may have been cancelled.
 */
export const isReused = (
  past: StepRecords,
  { id, effect }: Pick<AnyStep<World>, 'id' | 'effect'>,
  hasStartedWriting: boolean,
): boolean =>
  hasStartedWriting &&
  past.get(id)?.state === 'finished' &&
  effect !== 'locks' &&
  effect !== 'leaves';

/** Effect of the next run of the same command line on the present journal. */
export type Restart =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'set-aside'; readonly because: string }
  | {
      readonly kind: 'resume';
      /** Number of finished steps that do not run again. */
      readonly reused: number;
      /** The steps with which the run continues, one for each lane; empty if all have finished. */
      readonly next: readonly ResumedStep[];
    };

/** A step with which the next run continues. */
export type ResumedStep = Pick<AnyStep<World>, 'id' | 'title'>;

/** Decides by the journal how the next run of a role proceeds; the engine uses the same rule. */
export function decideRestart<W extends World>(
  { lines, header }: { readonly lines: readonly string[]; readonly header: JournalHeader },
  role: Role<W>,
  config: W['config'],
): Restart {
  const decision = decideResume(lines, header);
  if (decision.kind !== 'resume') return decision;
  const { past } = decision;
  const steps = mainLine(role)
    .map(({ step }) => step)
    // A step that the earlier run reached is part of the run, whatever this command line says.
    .filter(({ id, when }) => past.has(id) || isActive(when, config));
  const hasStartedWriting = hasDestroyed(role, past);
  const reused = steps.filter((step) => isReused(past, step, hasStartedWriting)).length;
  const begun = steps.filter(({ id }) => past.get(id)?.state === 'begun');
  const last = hasStartedWriting ? steps.findLastIndex(({ id }) => past.has(id)) : -1;
  const next = hasStartedWriting && begun.length > 0 ? begun : steps.slice(last + 1, last + 2);
  return { kind: 'resume', reused, next: next.map(({ id, title }) => ({ id, title })) };
}
