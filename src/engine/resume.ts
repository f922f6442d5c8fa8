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

/** What to do with one step of a resumed run. */
export type StepAction = 'run' | 'reuse' | 'probe';

/**
 * Whether what a finished step found may have changed: no step that it must be fresh for has begun.
 */
const runsAgain = (past: Past, freshUntil: string | readonly string[] | undefined): boolean =>
  freshUntil !== undefined && ![freshUntil].flat().some((id) => past.has(id));

/** What a step says about being run again. */
type RerunRules = Pick<AnyStep<World>, 'id' | 'rerun' | 'leaves' | 'freshUntil'>;

/**
 * The table of resuming: what the journal says against what the step allows. A step that leaves the
 * host and whose run still came back is always asked for: somebody may have called the reboot off.
 */
export function decideStep(
  past: Past,
  { id, rerun = 'safe', leaves = false, freshUntil }: RerunRules,
): StepAction {
  const record = past.get(id);
  if (record === undefined || rerun === 'always') return 'run';
  if (record.state === 'finished') {
    if (runsAgain(past, freshUntil)) return 'run';
    return leaves && rerun === 'probe' ? 'probe' : 'reuse';
  }
  return rerun === 'probe' ? 'probe' : 'run';
}

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
export interface ResumedStep {
  readonly id: string;
  readonly title: string;
  readonly action: Exclude<StepAction, 'reuse'>;
}

/**
 * Decides by the journal what the next run of a role would do; the engine decides by the same
 * table.
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
    // What the run came to took part in it, whatever this command line says.
    .filter(
      ({ step }) => past.has(step.id) || step.when === undefined || isActive(step.when, config),
    )
    .map(({ step }) => ({ step, action: decideStep(past, step) }));
  const reused = steps.filter(({ action }) => action === 'reuse').length;
  const begun = steps.filter(
    ({ step, action }) => past.get(step.id)?.state === 'begun' && action !== 'reuse',
  );
  const last = steps.findLastIndex(({ step }) => past.has(step.id));
  const next = begun.length > 0 ? begun : steps.slice(last + 1, last + 2);
  return {
    kind: 'resume',
    reused,
    next: next.flatMap(({ step: { id, title }, action }) =>
      action === 'reuse' ? [] : [{ id, title, action }],
    ),
  };
}
