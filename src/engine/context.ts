import type { World } from './step.ts';
import type { RunEventBody } from './events.ts';
import type { FactStore } from './fact.ts';
import { asAgentError } from './failures.ts';
import { type Journal, type JournalEntry, renderRecord } from './journal.ts';
import type { Past } from './resume.ts';
import type { PlacedStep } from './role.ts';
import type { Secret } from '../model/secret.ts';
import type { Clock } from '../ports/clock.ts';

/** What the parts of the engine share during one run. */
export interface RunContext<W extends World> {
  readonly config: W['config'];
  readonly ports: W['ports'];
  readonly clock: Clock;
  readonly journal: Journal;
  readonly past: Past;
  /** An earlier run had begun to destroy: what it finished is reused. */
  readonly isBehindLoss: boolean;
  readonly facts: FactStore;
  readonly emit: (body: RunEventBody) => void;
  readonly beforeLeaving: (signal: AbortSignal) => Promise<void>;
  /** Takes secrets out of words that are kept. */
  readonly mask: (text: string) => string;
  readonly hide: (secret: Secret) => void;
  /** Aborted when nobody wants the run any more. */
  readonly halt?: AbortSignal | undefined;
}

/**
 * Aborted by a stop, and when the run is halted: for what waits, and for the moment between two
 * steps.
 */
export const orHalted = <W extends World>(
  { halt }: RunContext<W>,
  signal: AbortSignal,
): AbortSignal => (halt === undefined ? signal : AbortSignal.any([signal, halt]));

type Timeless<Entry> = Entry extends JournalEntry ? Omit<Entry, 'at'> : never;

/** Adds an entry to the journal; with `flush` it is on the disk when the promise resolves. */
export async function record<W extends World>(
  { clock, journal }: RunContext<W>,
  content: Timeless<JournalEntry>,
  options: { readonly flush: boolean },
): Promise<void> {
  await journal.append(renderRecord({ ...content, at: clock.now() }), options);
}

/** Notes what went wrong beside a step, which changes nothing in how it ends. */
export function noteFailure<W extends World>(
  { emit }: RunContext<W>,
  placed: PlacedStep<W>,
  { message, thrown }: { readonly message: string; readonly thrown: unknown },
): void {
  const { code, message: reason } = asAgentError(thrown);
  emit({ type: 'note', ...about(placed), level: 'warn', message, fields: { code, reason } });
}

/** How events name a step. */
export const about = <W extends World>({
  step,
  lane,
}: PlacedStep<W>): { readonly step: string; readonly lane?: string } => ({
  step: step.id,
  ...(lane === undefined ? {} : { lane }),
});
