import type { AgentError } from '../../model/failure.ts';
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
 * Requests beside the one that each poll makes: the wait looks at its hosts each `perRequest`,
 * whatever they cost.
 */
export interface FurtherRequests {
  /** Whether one may be sent now; called right before it. */
  readonly mayAsk: () => boolean;
}

/** The further requests of one wait. */
export function furtherRequests({ elapsed }: Pick<Clock, 'elapsed'>): FurtherRequests {
  let left = afterFirstAnswer;
  let last = elapsed();
  return {
    mayAsk: () => {
      const now = elapsed();
      if (left <= 0 && now - last < perFurther) return false;
      left -= 1;
      last = now;
      return true;
    },
  };
}

/**
 * Gives hosts the names that the list of a wait lacks, for people; they are asked for once, as the
 * answer is large, and nobody waits for them.
 */
export function hostNames(inventory: Inventory, further: FurtherRequests) {
  const names = new Map<string, string>();
  return async (
    role: RoleName,
    hosts: readonly InventoryHost[],
    signal: AbortSignal,
  ): Promise<readonly InventoryHost[]> => {
    if (hosts.some(({ id, name }) => name === '' && !names.has(id)) && further.mayAsk()) {
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
 * Notes that requests to the service fail, once for each cause, and says nothing beside the stage:
 * an ill service would get one more report, and is not told about itself. Undefined for one that
 * answers.
 */
export function failureNotes({ note }: Pick<StepScope<never>, 'note'>) {
  let noted: string | undefined;
  return (failure: AgentError | undefined): void => {
    if (failure !== undefined && failure.code !== noted) {
      const { code, message: reason } = failure;
      note('warn', 'the inventory service cannot be asked; asking again', { code, reason });
    }
    noted = failure?.code;
  };
}
