import { isActive } from './condition.ts';
import type { JournalHeader } from './journal.ts';
import { decideResume, decideStep, type StepAction } from './resume.ts';
import { mainLine, type Role } from './role.ts';
import type { World } from './step.ts';

/** What the next run of the same command line would do with the journal that is there. */
export type Restart =
  | { readonly kind: 'fresh' }
  | { readonly kind: 'set-aside'; readonly because: string }
  | {
      readonly kind: 'resume';
      /** Steps that finished and are not run again. */
      readonly reused: number;
      /** The steps that it goes on with, those of each lane; none when all have finished. */
      readonly next: readonly ResumedStep[];
    };

/** A step that the next run goes on with. */
export interface ResumedStep {
  readonly id: string;
  readonly title: string;
  readonly action: Exclude<StepAction, 'reuse'>;
}

/** Decides by the journal what the next run of a role would do; the engine decides by the same table. */
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
