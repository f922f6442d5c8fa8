import { asAgentError } from '../../engine/failures.ts';
import type { StepScope } from '../step.ts';

/** The operating system of the release is used, and why. */
export interface Stock {
  readonly kind: 'stock';
  readonly why: string;
}

/**
 * Gives what `run` gives. Where it fails and `layering.failurePolicy` is `fallback-stock`, the operating system
 * of the release takes the place of the built one, and the failure is told. A step that was stopped did not fail.
 */
export async function orStock<T>(
  { config, signal, note }: Pick<StepScope<never>, 'config' | 'signal' | 'note'>,
  run: () => Promise<T>,
): Promise<T | Stock> {
  try {
    return await run();
  } catch (error) {
    signal.throwIfAborted();
    if (config.layering.failurePolicy !== 'fallback-stock') throw error;
    const { code, message, hint } = asAgentError(error);
    note('warn', 'the operating system of the release is used instead of a built one', {
      code,
      reason: message,
      hint,
    });
    return { kind: 'stock', why: `${code}: ${message}` };
  }
}
