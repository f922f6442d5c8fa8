import { hostIndexOf } from '../../cluster/host-index.ts';
import { addressesAsking, containerLogs, isMcsLog } from '../../cluster/mcs-log.ts';
import { isActive } from '../../engine/condition.ts';
import { asAgentError } from '../../engine/failures.ts';
import { type PollResult, silently, untilOf } from '../../engine/wait.ts';
import { blockedControllerConfig } from '../../layering/manifests/bootstrap-files.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { Stage } from '../../model/stage.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import { ControlPlane } from '../bootstrap/start-services.ts';
import { buildsOsImages, hasService } from '../conditions.ts';
import { step, type StepScope } from '../step.ts';
import { otherHosts, type Tasks, tasksOf } from './inventory-hosts.ts';
import { longestWait } from './kube-watch.ts';

/** How often the logs are read. */
const pollInterval = seconds(2);

/** Reports to the service which hosts requested their Ignition from this one, until all have. */
export const followHosts = step({
  id: 'cluster/follow-hosts',
  title: 'Report the hosts that requested their Ignition',
  uses: ['host', 'inventory', 'clock'],
  needs: { controlPlane: ControlPlane },
  when: hasService,
  limit: longestWait + minutes(30),
  explain: () => 'waits for Ignition requests in the log of the machine-config-server',
  run: async (scope) => {
    // Without a status: the info of the stage belongs to the main sequence.
    const until = untilOf(scope.clock, scope.signal, silently);
    const tasks = tasksOf(scope);
    await until('every host has requested its Ignition', pollOf(scope, tasks), {
      within: longestWait,
      every: pollInterval,
      watch: tasks.watch,
    });
  },
});

/** Stages of a host that has its Ignition. */
const hasIgnition: ReadonlySet<string> = new Set<Stage>([
  'Waiting for ignition',
  'Configuring',
  'Joined',
  'Done',
]);

/** The stage of a host that has requested Ignition; a worker requests it from the cluster later. */
const stageOf = ({ role }: InventoryHost): Stage =>
  role === 'worker' ? 'Waiting for ignition' : 'Configuring';

function pollOf(
  scope: StepScope<'host' | 'inventory' | 'clock'>,
  tasks: Tasks,
): (signal: AbortSignal) => Promise<PollResult<true>> {
  const others = otherHosts(scope, tasks);
  const { isBlocked, requests } = serverOf(scope);
  /** The count of answers when an address without a host was seen first. */
  const strangers = new Map<string, number>();
  /** The count of answers when the report of a host was sent. */
  const sentAfter = new Map<string, number>();
  const isServed = (host: InventoryHost): boolean =>
    hasIgnition.has(host.stage ?? '') || others.endOf(host) === 'accepted';

  return async (signal) => {
    const asked = await requests(signal);
    const hosts = others.listed();
    if (hosts === undefined) {
      others.ask();
      return { status: 'the inventory service has not listed its hosts yet' };
    }
    const index = hostIndexOf(hosts);
    const found = new Set<InventoryHost>();
    for (const address of asked) {
      const host = index.at(address);
      if (host === undefined) {
        const before = strangers.get(address) ?? others.answers();
        strangers.set(address, before);
        // Asks once more for each address: if it is unknown in the next answer too, it belongs to
        // no host of the cluster.
        if (others.answers() === before) others.ask();
      } else if (!isServed(host)) found.add(host);
    }
    if (found.size > 0 && (await isBlocked(signal))) {
      return { status: 'hosts that requested Ignition are blocked until their image is built' };
    }
    for (const host of found) {
      const isRefused = others.endOf(host) === 'inventory.refused';
      // Another agent may have reported a later stage; then no report is needed.
      if (isRefused) others.ask();
      if (isRefused && sentAfter.get(host.id) === others.answers()) continue;
      sentAfter.set(host.id, others.answers());
      others.report(host, stageOf(host));
    }
    const waiting = hosts.filter((host) => !isServed(host)).map(({ name }) => name);
    return waiting.length === 0
      ? { done: true }
      : { status: `not requested yet by ${waiting.join(', ')}` };
  };
}

/**
 * Reads the machine-config-server of this host: whether it is blocked, and which addresses sent
 * requests. A failed read is logged once and repeated at the next poll.
 */
function serverOf({ host, note, config }: StepScope<'host'>) {
  const noted = new Set<string>();
  const asked = new Set<string>();
  /** The length of each log up to its last complete line that was searched. */
  const searchedTo = new Map<string, number>();
  let isOver = !isActive(buildsOsImages, config);

  const trying = async (what: string, signal: AbortSignal, read: () => Promise<void>) => {
    try {
      await read();
    } catch (error) {
      signal.throwIfAborted();
      const { code, message: reason } = asAgentError(error);
      if (!noted.has(what)) note('warn', `cannot read ${what}`, { code, reason });
      noted.add(what);
    }
  };

  return {
    /**
     * Whether the server is blocked. The server logs each request before it answers, and its log of
     * a failed answer names no host. Therefore the block is read from the file that is moved away
     * while images are built. A block that ended never returns, and each waiting host gets its
     * Ignition within five seconds, the interval of Ignition's retries.
     */
    isBlocked: async (signal: AbortSignal): Promise<boolean> => {
      if (isOver) return false;
      await trying('whether the config server is blocked', signal, async () => {
        isOver = (await host.realPath(blockedControllerConfig, signal)) === undefined;
      });
      return !isOver;
    },
    /**
     * Every address that ever requested Ignition, in canonical form. Each instance of the pod has
     * its own log. Its name is a link into the directory of the pod; the link is resolved at each
     * read because a log rotation may move the file.
     */
    requests: async (signal: AbortSignal): Promise<ReadonlySet<string>> => {
      let names: readonly string[] = [];
      await trying(containerLogs, signal, async () => {
        names = await host.list(containerLogs, signal);
      });
      for (const name of names.filter(isMcsLog)) {
        await trying(name, signal, async () => {
          const path = await host.realPath(`${containerLogs}/${name}`, signal);
          if (path === undefined) return;
          const text = (await host.readText(path, signal)) ?? '';
          // Blocked hosts ask every five seconds: a log has megabytes after an hour.
          const last = searchedTo.get(path) ?? 0;
          const isRotated = last > text.length;
          for (const address of addressesAsking(text.slice(isRotated ? 0 : last)))
            asked.add(address);
          searchedTo.set(path, text.lastIndexOf('\n') + 1);
        });
      }
      return asked;
    },
  };
}
