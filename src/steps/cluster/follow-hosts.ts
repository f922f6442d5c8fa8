import { containerLogs, isMcsLog, type McsLog, readOn, unreadLog } from '../../cluster/mcs-log.ts';
import { isActive } from '../../engine/condition.ts';
import { asAgentError, noteFailed } from '../../engine/failures.ts';
import { type PollResult, silently, untilAborted, untilOf, type Watch } from '../../engine/wait.ts';
import { blockedControllerConfig } from '../../layering/manifests/bootstrap-files.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { Stage } from '../../model/stage.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import { ControlPlane } from '../bootstrap/start-services.ts';
import { hasService, buildsOsImages } from '../conditions.ts';
import { step, type StepScope } from '../step.ts';
import { hostReportsOf, type KnownHosts, knownHostsOf } from './inventory-hosts.ts';
import { longestWait } from './kube-watch.ts';
import { tasksOf } from './tasks.ts';

/** How often to poll what notifies nobody, a report that failed for example. */
const pollInterval = seconds(30);

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
    const { clock, signal } = scope;
    // Silently: the info of the stage belongs to the main sequence.
    const until = untilOf(clock, signal, silently);
    const follow = followingOf(scope);
    try {
      await until('every host has requested its Ignition', follow.poll, {
        within: longestWait,
        every: pollInterval,
        watch: follow.watch,
      });
    } finally {
      await follow.close();
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

function followingOf(scope: StepScope<'host' | 'inventory' | 'clock'>) {
  let notify = (): void => undefined;
  const tasks = tasksOf(scope, () => notify());
  const known = knownHostsOf(scope, tasks);
  const reports = hostReportsOf(scope, tasks);
  const readLogs = mcsLogsOf(scope);
  const files = changingWatch(scope, () => notify());
  const hostsAt = knownAddressesOf(known);
  const isBlocked = blockOf(scope);
  /** How often the service had listed its hosts when the report of a host was sent. */
  const sentAfter = new Map<string, number>();
  const isServed = (host: InventoryHost): boolean =>
    hasIgnition.has(host.stage ?? '') || reports.endOf(host) === 'accepted';

  const poll = async (signal: AbortSignal): Promise<PollResult<true>> => {
    const { paths, asked } = await readLogs(signal);
    files.set([containerLogs, ...paths]);
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
  const watch: Watch = (changed, signal) => {
    notify = changed;
    return untilAborted(signal);
  };
  return {
    poll,
    watch,
    close: async () => {
      await Promise.all([files.close(), tasks.close()]);
    },
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
 * Reads what is new in each log of the machine-config-server on this host. Returns the files to
 * watch, and every address that ever requested Ignition, in canonical form. Each instance of the
 * pod has its own log. Its name is a link into the directory of the pod, which is followed each
 * time because a rotation may move the file.
 */
function mcsLogsOf({ host, note }: StepScope<'host'>) {
  const logs = new Map<string, McsLog>();
  const noted = new Set<string>();
  let asked: ReadonlySet<string> = new Set();

  const trying = async <T>(
    what: string,
    signal: AbortSignal,
    read: () => Promise<T>,
  ): Promise<T | undefined> => {
    try {
      return await read();
    } catch (error) {
      signal.throwIfAborted();
      const { code, message } = asAgentError(error);
      if (!noted.has(what)) note('warn', `cannot read ${what}`, { code, reason: message });
      noted.add(what);
      return undefined;
    }
  };

  const readOne = async (name: string, signal: AbortSignal): Promise<string | undefined> => {
    const path = await host.realPath(`${containerLogs}/${name}`, signal);
    if (path === undefined) return undefined;
    const before = logs.get(name) ?? unreadLog;
    const after = readOn(before, (await host.readText(path, signal)) ?? '');
    logs.set(name, after);
    if (after.asked !== before.asked) asked = new Set([...asked, ...after.asked]);
    return path;
  };

  return async (signal: AbortSignal) => {
    const list = (): Promise<readonly string[]> => host.list(containerLogs, signal);
    const names = ((await trying(containerLogs, signal, list)) ?? []).filter(isMcsLog);
    const paths = await Promise.all(
      names.map((name) => trying(name, signal, () => readOne(name, signal))),
    );
    return { paths: paths.filter((path) => path !== undefined), asked };
  };
}

/** Watches files whose list changes; a watch that fails is noted. */
function changingWatch({ host, signal, note }: StepScope<'host'>, changed: () => void) {
  let [watched, end] = ['', new AbortController()];
  let ended: Promise<unknown> = Promise.resolve();
  const stop = (): void => end.abort(new Error('no longer watched'));
  return {
    /** Watches exactly these paths from now on. */
    set: (paths: readonly string[]): void => {
      if (paths.join('\n') === watched) return;
      stop();
      [watched, end] = [paths.join('\n'), new AbortController()];
      const either = AbortSignal.any([signal, end.signal]);
      const watching = host.watch(paths, changed, either).catch((error: unknown) => {
        if (either.aborted) return;
        noteFailed({ signal, note }, `cannot watch ${containerLogs}; polling it every 30 s`, error);
      });
      ended = Promise.all([ended, watching]);
    },
    close: async (): Promise<void> => {
      stop();
      await ended;
    },
  };
}
