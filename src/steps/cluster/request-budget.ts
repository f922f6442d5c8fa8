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
 * What the first answer may lead to beside the request of its poll: names, arbiters, the status of
 * this host. A poll that got no answer takes nothing of it.
 */
const afterFirstAnswer = 3;

/** From one further request to the next. */
const perFurther: Millis = seconds(150);

/**
 * Whether a wait may send a further request now, beside the one of each poll: the wait looks at its
 * hosts each `perRequest`, whatever they cost. Called right before it is sent.
 */
export type MayAsk = () => boolean;

/** The further requests of one wait. */
export function furtherRequests({ elapsed }: Pick<Clock, 'elapsed'>): MayAsk {
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
 * Gives hosts the names that the list of a wait lacks, for people; they are asked for once, as the
 * answer is large, and nobody waits for them.
 */
export function hostNames(inventory: Inventory, mayAsk: MayAsk) {
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

/** Hosts that are waited for with how far each is, for people: `m2 is Joined`. */
export const hostStates = (hosts: readonly InventoryHost[]): readonly string[] =>
  hosts
    .map(({ name, id, stage, status }) => `${name === '' ? id : name} is ${stage ?? status}`)
    .sort();

/**
 * Polls the service for a wait. A request that fails is noted, once for each cause, and changes
 * nothing beside the stage: an ill service would get one more report, and is not told about itself.
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
