import { asAgentError } from '../../engine/failures.ts';
import type { Config } from '../../config/schema.ts';
import { seconds } from '../../model/duration.ts';
import type { FailureKind } from '../../model/failure.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Host } from '../../ports/host.ts';
import type { Inventory } from '../../ports/inventory.ts';
import type { Secret } from '../../model/secret.ts';
import type { IgnitionPorts } from '../../steps/ignition/sources.ts';

/** Result of a check. A field is never removed within one version. */
export interface HostFinding {
  /** Name of the check, or the id of a step of the role. */
  readonly check: string;
  /** `failed`: an install would fail by it; `warning`: an install may fail by it later. */
  readonly state: 'ok' | 'warning' | 'failed' | 'not checked';
  readonly says: string;
  /** The remedy. */
  readonly hint?: string;
  /** Code in docs/errors.md, if the check failed with one. */
  readonly code?: string;
  readonly kind?: FailureKind;
}

/** Result of a check without its name. */
export type CheckAnswer = Omit<HostFinding, 'check'>;

/** Inputs of a check. */
export interface CheckScope {
  readonly host: Host;
  readonly inventory: Inventory;
  readonly config: Config;
  readonly signal: AbortSignal;
}

/** Further inputs of checks of the network. */
export interface NetworkScope extends CheckScope, IgnitionPorts {
  readonly clock: Clock;
  /** Registers a secret, which is then masked in all output. */
  readonly hide: (secret: Secret) => void;
}

/** One read-only check of the host or of a service that the host reaches. */
export interface Check<Scope extends CheckScope = CheckScope> {
  readonly name: string;
  readonly ask: (scope: Scope) => Promise<CheckAnswer>;
}

export const ok = (says: string): CheckAnswer => ({ state: 'ok', says });

export const warning = (says: string, hint: string): CheckAnswer => ({
  state: 'warning',
  says,
  hint,
});

/** An error as the result of a check. */
export function failedBy(thrown: unknown): CheckAnswer {
  const { code, kind, message, hint } = asAgentError(thrown);
  return { state: 'failed', says: message, code, kind, hint };
}

/**
 * Limit of one check. Its commands and requests have their own limits, which suit an installation
 * and are longer.
 */
const checkLimit = seconds(20);

/** Runs one check; an error becomes its result. */
export async function askCheck<Scope extends CheckScope>(
  { name, ask }: Check<Scope>,
  scope: Scope,
): Promise<HostFinding> {
  const limit = AbortSignal.timeout(checkLimit);
  try {
    const signal = AbortSignal.any([scope.signal, limit]);
    return { check: name, ...(await ask({ ...scope, signal })) };
  } catch (thrown) {
    scope.signal.throwIfAborted();
    if (!limit.aborted) return { check: name, ...failedBy(thrown) };
    return {
      check: name,
      state: 'failed',
      says: `no answer within ${checkLimit / 1000} s`,
      hint: 'see what holds it up; an installation would wait longer',
    };
  }
}
