import { asAgentError } from '../../engine/failures.ts';
import type { Config } from '../../config/schema.ts';
import { seconds } from '../../model/duration.ts';
import type { FailureKind } from '../../model/failure.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Host } from '../../ports/host.ts';
import type { Inventory } from '../../ports/inventory.ts';
import type { Secret } from '../../model/secret.ts';
import type { IgnitionPorts } from '../../steps/ignition/sources.ts';

/** What a check found. A field is never removed within one version. */
export interface HostFinding {
  /** What was looked at, or the id of a step of the role. */
  readonly check: string;
  /** `failed`: an install would fail by it; `warning`: it may, later. */
  readonly state: 'ok' | 'warning' | 'failed' | 'not checked';
  readonly says: string;
  /** What to do. */
  readonly hint?: string;
  /** Of docs/errors.md, where it failed with one. */
  readonly code?: string;
  readonly kind?: FailureKind;
}

/** What a check says; its name is known. */
export type CheckAnswer = Omit<HostFinding, 'check'>;

/** What checks look at. */
export interface CheckScope {
  readonly host: Host;
  readonly inventory: Inventory;
  readonly config: Config;
  readonly signal: AbortSignal;
}

/** What checks of the network look at too. */
export interface NetworkScope extends CheckScope, IgnitionPorts {
  readonly clock: Clock;
  /** Has a secret that was read taken out of all that is shown. */
  readonly hide: (secret: Secret) => void;
}

/** One question about the host or what it reaches; it only reads. */
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

/** An error as what a check found. */
export function failedBy(thrown: unknown): CheckAnswer {
  const { code, kind, message, hint } = asAgentError(thrown);
  return { state: 'failed', says: message, code, kind, hint };
}

/**
 * How long a check may take; its own commands and requests have limits that suit an installation,
 * which has time.
 */
const checkLimit = seconds(20);

/** Asks one question; whatever goes wrong is what it found. */
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
