import { asAgentError } from '../../engine/failures.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import { type HostIndex, hostIndexOf } from '../../cluster/host-match.ts';
import type { StepScope } from '../step.ts';
import type { Tasks } from './tasks.ts';

/** The inventory service is asked for its hosts at most so often. */
export const askHostsEvery: Millis = seconds(30);

/** The other hosts of the cluster, as the inventory service told them last. */
export interface KnownHosts {
  /** Undefined until it has told them once. */
  readonly hosts: () => readonly InventoryHost[] | undefined;
  readonly index: () => HostIndex | undefined;
  /** How often it has told them. */
  readonly answers: () => number;
  /** Why it did not tell them when it was asked last. */
  readonly trouble: () => string | undefined;
  /** Asks beside the wait, unless it was asked a short time ago. */
  readonly ask: () => void;
}

/** Keeps what the inventory service tells of the other hosts; this host is left out by its id. */
export function knownHostsOf(scope: StepScope<'inventory'>, tasks: Tasks): KnownHosts {
  const { config, inventory } = scope;
  let hosts: readonly InventoryHost[] | undefined;
  let index: HostIndex | undefined;
  let trouble: string | undefined;
  let answers = 0;
  const read = async (signal: AbortSignal): Promise<void> => {
    try {
      const enabled = await inventory.enabledHosts(signal);
      hosts = enabled.filter(({ id }) => id !== config.cluster.hostId);
      index = hostIndexOf(hosts);
      answers += 1;
      trouble = undefined;
    } catch (error) {
      signal.throwIfAborted();
      trouble = asAgentError(error).code;
    }
  };
  return {
    hosts: () => hosts,
    index: () => index,
    answers: () => answers,
    trouble: () => trouble,
    ask: () => tasks.run('ask for hosts', askHostsEvery, read),
  };
}
