import { isActive } from './condition.ts';
import { type JournalEntry, type JournalHeader, parseJournal } from './journal.ts';
import { mainLine, type Role } from './role.ts';
import type { AnyStep, World } from './step.ts';

/** The last thing a journal says of a step. */
export type StepRecord =
  { readonly state: 'finished'; readonly fact: unknown } | { readonly state: 'begun' };

/** What an earlier run left: the state of each step it came to. */
export type Past = ReadonlyMap<string, StepRecord>;

/** Whether a journal can be gone on with, and if not, what differs. */
export type ResumeDecision =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'set-aside'; readonly because: string }
  | { readonly kind: 'resume'; readonly past: Past };

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
  if (found.bootId !== wanted.bootId) return 'the host was started again since';
  if (found.role !== wanted.role) return `the journal is of the role ${found.role}`;
  if (found.fingerprint !== wanted.fingerprint) return 'the configuration is another one';
  if (found.version !== wanted.version) return `the journal is of version ${found.version}`;
  return undefined;
}

function pastOf(entries: readonly JournalEntry[]): Past {
  const past = new Map<string, StepRecord>();
  for (const entry of entries) {
    if (entry.type === 'finished') past.set(entry.step, { state: 'finished', fact: entry.fact });
    else past.set(entry.step, { state: 'begun' });
  }
  return past;
}

/** Whether a run came to a step of its role that destroys. */
export const hasDestroyed = <W extends World>(role: Pick<Role<W>, 'steps'>, past: Past): boolean =>
  mainLine(role).some(({ step }) => step.effect === 'destroys' && past.has(step.id));

/**
 * The rule of resuming. Before something was destroyed everything runs again, since what was found
 * may have changed; behind it a finished step is reused. A step that leaves the host and whose run
 * still came back runs again: somebody may have called the reboot off.
 */
export const isReused = (
  past: Past,
  { id, effect }: Pick<AnyStep<World>, 'id' | 'effect'>,
  isBehindLoss: boolean,
): boolean =>
  isBehindLoss && past.get(id)?.state === 'finished' && effect !== 'locks' && effect !== 'leaves';

/** What the next run of the same command line would do with the journal that is there. */
export type Restart =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'set-aside'; readonly because: string }
  | {
      readonly kind: 'resume';
      /** Steps that finished and are not run again. */
      readonly reused: number;
      /** The steps that it continues with, those of each lane; none when all have finished. */
      readonly next: readonly ResumedStep[];
    };

/** A step that the next run continues with. */
export type ResumedStep = Pick<AnyStep<World>, 'id' | 'title'>;

/**
 * Decides by the journal what the next run of a role would do; the engine decides by the same rule.
 */
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
    // What the run came to took part in it, whatever this command line says.
    .filter(({ id, when }) => past.has(id) || isActive(when, config));
  const isBehindLoss = hasDestroyed(role, past);
  const reused = steps.filter((step) => isReused(past, step, isBehindLoss)).length;
  const begun = steps.filter(({ id }) => past.get(id)?.state === 'begun');
  const last = isBehindLoss ? steps.findLastIndex(({ id }) => past.has(id)) : -1;
  const next = isBehindLoss && begun.length > 0 ? begun : steps.slice(last + 1, last + 2);
  return { kind: 'resume', reused, next: next.map(({ id, title }) => ({ id, title })) };
}
