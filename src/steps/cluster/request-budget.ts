import type { AgentError } from '../../model/failure.ts';
import type { StepScope } from '../step.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { RoleName } from '../../model/role.ts';
import type { Inventory, InventoryHost } from '../../ports/inventory.ts';

/**
 * A wait sends at most two requests a minute, so that hundreds of hosts can wait at once. Each host sends a third,
 * which asks whether the service still installs it (`reporting/reporter.ts`).
 */
export const perRequest: Millis = seconds(30);

/**
 * What the first poll may cost: the cluster, the masters, their names, the arbiters, and the report of the status.
 * It does not count against later polls, so that there is no gap after it.
 */
const firstPoll = 5;

/** Spreads requests over polls that come every `perRequest`; each poll earns one. */
export interface RequestBudget {
  /** Whether this poll may send requests; called once for each poll. */
  readonly mayAsk: () => boolean;
  /** A request was sent. */
  readonly spend: () => void;
}

/** A budget that allows requests in the first poll. */
export function requestBudget(): RequestBudget {
  let credit = firstPoll;
  let isFirst = true;
  return {
    mayAsk: () => {
      if (!isFirst) credit = Math.min(1, credit + 1);
      isFirst = false;
      return credit > 0;
    },
    spend: () => {
      credit -= 1;
    },
  };
}

/**
 * Gives hosts the names that the list of a wait lacks, for people; they are asked for once, as the answer is large, and
 * nobody waits for them.
 */
export function hostNames(inventory: Inventory, budget: RequestBudget) {
  const names = new Map<string, string>();
  return async (
    role: RoleName,
    hosts: readonly InventoryHost[],
    signal: AbortSignal,
  ): Promise<readonly InventoryHost[]> => {
    if (hosts.some(({ id, name }) => name === '' && !names.has(id))) {
      budget.spend();
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
 * Notes that requests to the service fail, once for each cause, and says nothing beside the stage: an ill
 * service would get one more report, and is not told about itself. Undefined for one that answers.
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
