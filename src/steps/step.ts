import type { Config } from '../config/schema.ts';
import { asAgentError } from '../engine/failures.ts';
import { stepsOf, type Scope } from '../engine/step.ts';
import type { Ports } from '../ports/ports.ts';

/** What the steps of Bootwright work on. */
export interface InstallWorld {
  readonly config: Config;
  readonly ports: Ports;
}

/** Defines a step of a Bootwright role. */
export const step = stepsOf<InstallWorld>();

/** What a step of a Bootwright role has at hand. */
export type StepScope<Uses extends keyof Ports> = Scope<InstallWorld, Uses>;

/**
 * Notes a failure that the step survives, with its code and reason.
 * @throws the reason of the signal where the step was stopped: that is no failure
 */
export function noteFailed(
  { signal, note }: Pick<StepScope<never>, 'signal' | 'note'>,
  message: string,
  error: unknown,
): void {
  signal.throwIfAborted();
  const { code, message: reason } = asAgentError(error);
  note('warn', message, { code, reason });
}
