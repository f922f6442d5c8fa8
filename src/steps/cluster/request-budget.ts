import { asAgentError } from '../../engine/failures.ts';
import type { PollResult } from '../../engine/wait.ts';
import { heartbeatOf } from '../heartbeat.ts';
import type { StepScope } from '../step.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { RoleName } from '../../model/role.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Inventory, InventoryHost } from '../../ports/inventory.ts';

/**
 * A wait sends at most two requests a minute, so that hundreds of hosts can wait at once. Each host
 * sends a third, which asks whether the service still installs it (`reporting/reporter.ts`).
 */
export const perRequest: Millis = seconds(30);

/**
 * Number of further requests after the first answer of a wait: names, arbiters, the status of this
 * host. A poll without an answer uses none of them.
 */
const afterFirstAnswer = 3;

/** Interval between two further requests. */
const perFurther: Millis = seconds(150);

/**
 * Whether a wait may send a further request now, in addition to the request of each poll: the poll
 * runs each `perRequest` in any case. Call it right before the request.
 */
export type RequestPermit = () => boolean;

/** The further requests of one wait. */
export function furtherRequests({ elapsed }: Pick<Clock, 'elapsed'>): RequestPermit {
  let left = afterFirstAnswer;
  let last = elapsed();
  return () => {
    const now = elapsed();
    if (left <= 0 && now - last < perFurther) return false;
    left -= 1;
    last = now;
    return true;
  };
}

/**
 * Adds the names that are missing in the list of a wait, for people. They are requested once,
 * because the answer is large, and no wait depends on them.
 */
export function hostNames(inventory: Inventory, mayAsk: RequestPermit) {
  const names = new Map<string, string>();
  return async (
    role: RoleName,
    hosts: readonly InventoryHost[],
    signal: AbortSignal,
  ): Promise<readonly InventoryHost[]> => {
    if (hosts.some(({ id, name }) => name === '' && !names.has(id)) && mayAsk()) {
      try {
        for (const { id, name } of await inventory.namedHosts(role, signal)) names.set(id, name);
      } catch {
        signal.throwIfAborted();
      }
    }
    return hosts.map((host) => ({ ...host, name: host.name || (names.get(host.id) ?? '') }));
  };
}

/** The hosts of a wait with their stages, for people: `m2 is Joined`. */
export const hostStates = (hosts: readonly InventoryHost[]): readonly string[] =>
  hosts
    .map(({ name, id, stage, status }) => `${name === '' ? id : name} is ${stage ?? status}`)
    .sort();

/**
 * Polls the service for a wait. A failed request is logged once per cause and does not change the
 * info of the stage: a report about a failing service would only be one more request to it.
 */
export function servicePoll(
  scope: StepScope<'clock'>,
  ask: (signal: AbortSignal) => Promise<PollResult<true>>,
): (signal: AbortSignal) => Promise<PollResult<true>> {
  const beat = heartbeatOf(scope);
  let status = 'the inventory service has not answered yet';
  let noted: string | undefined;
  return async (signal) => {
    try {
      const result = await ask(signal);
      if ('done' in result) return result;
      ({ status } = result);
      noted = undefined;
      beat();
    } catch (error) {
      signal.throwIfAborted();
      const { code, message: reason } = asAgentError(error);
      if (code !== noted)
        scope.note('warn', 'the inventory service cannot be asked; asking again', { code, reason });
      noted = code;
    }
    return { status };
  };
}
