import { containerLogs, isMcsLog, type McsLog, readOn, unreadLog } from '../../cluster/mcs-log.ts';
import { isActive } from '../../engine/condition.ts';
import { asAgentError } from '../../engine/failures.ts';
import { type PollResult, silently, untilAborted, untilOf } from '../../engine/wait.ts';
import { blockedControllerConfig } from '../../layering/manifests/bootstrap-files.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { Stage } from '../../model/stage.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import { ControlPlane } from '../bootstrap/start-services.ts';
import { hasService, buildsOsImages } from '../conditions.ts';
import { step, type StepScope } from '../step.ts';
import { hostReportsOf, type KnownHosts, knownHostsOf } from './inventory-hosts.ts';
import { longestWait } from './kube-watch.ts';
import { type Tasks, tasksOf } from './tasks.ts';

/** How often the logs are read; they are small. */
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
    // Silently: the info of the stage belongs to the main sequence.
    const until = untilOf(scope.clock, scope.signal, silently);
    let notify = (): void => undefined;
    const tasks = tasksOf(scope, () => notify());
    try {
      await until('every host has requested its Ignition', pollOf(scope, tasks), {
        within: longestWait,
        every: pollInterval,
        watch: (changed, signal) => {
          notify = changed;
          return untilAborted(signal);
        },
      });
    } finally {
      await tasks.close();
    }
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
  const known = knownHostsOf(scope, tasks);
  const reports = hostReportsOf(scope, tasks);
  const readLogs = mcsLogsOf(scope);
  const hostsAt = knownAddressesOf(known);
  const isBlocked = blockOf(scope);
  /** How often the service had listed its hosts when the report of a host was sent. */
  const sentAfter = new Map<string, number>();
  const isServed = (host: InventoryHost): boolean =>
    hasIgnition.has(host.stage ?? '') || reports.endOf(host) === 'accepted';

  return async (signal) => {
    const asked = await readLogs(signal);
    const hosts = known.hosts();
    if (hosts === undefined) {
      known.ask();
      return { status: 'the inventory service has not listed its hosts yet' };
    }
    const found = [...hostsAt(asked)].filter((host) => !isServed(host));
    if (found.length > 0 && (await isBlocked(signal))) {
      return { status: 'hosts that requested Ignition are blocked until their image is built' };
    }
    for (const host of found) {
      const isRefused = reports.endOf(host) === 'refused';
      // Another may have reported a later stage; then there is nothing to report.
      if (isRefused) known.ask();
      if (isRefused && sentAfter.get(host.id) === known.answers()) continue;
      sentAfter.set(host.id, known.answers());
      reports.send(host, stageOf(host));
    }
    const waiting = hosts.filter((host) => !isServed(host)).map(({ name }) => name);
    return waiting.length === 0
      ? { done: true }
      : { status: `not requested yet by ${waiting.join(', ')}` };
  };
}

/**
 * Whether the machine-config-server of this host serves nobody.
 * The server logs each request before it answers, and its log of a failed answer names no host. So
 * the block is read from the file that is missing from its place while images are built. Once the
 * block is over it never returns, and each waiting host gets its Ignition within five seconds:
 * Ignition retries that often.
 */
function blockOf({
  host,
  note,
  config,
}: StepScope<'host'>): (signal: AbortSignal) => Promise<boolean> {
  let isOver = !isActive(buildsOsImages, config);
  return async (signal) => {
    if (isOver) return false;
    try {
      isOver = (await host.realPath(blockedControllerConfig, signal)) === undefined;
    } catch (error) {
      signal.throwIfAborted();
      const { code, message: reason } = asAgentError(error);
      note('debug', 'cannot read whether the config server is blocked', { code, reason });
    }
    return !isOver;
  };
}

/**
 * The hosts at some addresses. For an unknown one the service is asked once more: those that it
 * does not know then are remembered, so that it is not asked for them again.
 */
function knownAddressesOf(
  known: KnownHosts,
): (asked: ReadonlySet<string>) => ReadonlySet<InventoryHost> {
  const unknownForGood = new Set<string>();
  let answers = 0;
  return (asked) => {
    const index = known.index();
    const found = new Map([...asked].map((address) => [address, index?.at(address)]));
    const unknown = [...found].filter(([, host]) => host === undefined).map(([at]) => at);
    // The first answer was requested before any host had come.
    if (answers > 0 && known.answers() > answers)
      for (const one of unknown) unknownForGood.add(one);
    answers = known.answers();
    if (unknown.some((address) => !unknownForGood.has(address))) known.ask();
    return new Set([...found.values()].filter((host) => host !== undefined));
  };
}

/**
 * Reads what is new in each log of the machine-config-server on this host. Returns every address
 * that ever requested Ignition, in canonical form. Each instance of the pod has its own log. Its
 * name is a link into the directory of the pod, which is followed each time because a rotation may
 * move the file.
 */
function mcsLogsOf({ host, note }: StepScope<'host'>) {
  const logs = new Map<string, McsLog>();
  const noted = new Set<string>();
  const asked = new Set<string>();

  const trying = async (what: string, signal: AbortSignal, read: () => Promise<void>) => {
    try {
      await read();
    } catch (error) {
      signal.throwIfAborted();
      const { code, message } = asAgentError(error);
      if (!noted.has(what)) note('warn', `cannot read ${what}`, { code, reason: message });
      noted.add(what);
    }
  };

  return async (signal: AbortSignal): Promise<ReadonlySet<string>> => {
    let names: readonly string[] = [];
    await trying(containerLogs, signal, async () => {
      names = await host.list(containerLogs, signal);
    });
    for (const name of names.filter(isMcsLog)) {
      await trying(name, signal, async () => {
        const path = await host.realPath(`${containerLogs}/${name}`, signal);
        if (path === undefined) return;
        const text = (await host.readText(path, signal)) ?? '';
        const log = readOn(logs.get(name) ?? unreadLog, text);
        logs.set(name, log);
        for (const address of log.asked) asked.add(address);
      });
    }
    return asked;
  };
}
