import { containerLogs } from '../../cluster/mcs-log.ts';
import { isActive } from '../../engine/condition.ts';
import { asAgentError } from '../../engine/failures.ts';
import { type Look, silently, untilOf, type Watch } from '../../engine/wait.ts';
import { heldControllerConfig } from '../../layering/manifests/delivery.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { Stage } from '../../model/stage.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import { hasService } from '../conditions.ts';
import { ControlPlane } from '../bootstrap/start-services.ts';
import { buildsOsImages } from '../layering/conditions.ts';
import { step, type StepScope } from '../step.ts';
import { changingWatch, mcsLogsOf } from './mcs-logs.ts';
import { longestWait } from './kube-watch.ts';
import { hostReportsOf, type KnownHosts, knownHostsOf } from './inventory-hosts.ts';
import { tasksOf } from './tasks.ts';

/** What nobody rang for, a report that failed for example, is looked at so often. */
const lookEvery = seconds(30);

/** Tells the service which hosts have asked this one for their Ignition, until all have. */
export const followHosts = step({
  id: 'cluster/follow-hosts',
  title: 'Tell which hosts have asked for their Ignition',
  uses: ['host', 'inventory', 'clock'],
  needs: { controlPlane: ControlPlane },
  when: hasService,
  limit: longestWait + minutes(30),
  waitsFor: 'requests of Ignition in the log of the machine-config-server',
  run: async (scope) => {
    const { clock, signal } = scope;
    // Quiet: its statuses would stand beside the stage of the main line.
    const until = untilOf(clock, signal, silently);
    const follow = followingOf(scope);
    try {
      await until('every host has asked for its Ignition', follow.look, {
        within: longestWait,
        every: lookEvery,
        watch: follow.watch,
      });
    } finally {
      await follow.close();
    }
  },
});

/** Stages of a host that has its Ignition. */
const through: ReadonlySet<string> = new Set<Stage>([
  'Waiting for ignition',
  'Configuring',
  'Joined',
  'Done',
]);

/** The stage that a host is in once it has asked; a worker asks the cluster once more later. */
const stageOf = ({ role }: InventoryHost): Stage =>
  role === 'worker' ? 'Waiting for ignition' : 'Configuring';

interface Following {
  readonly look: (signal: AbortSignal) => Promise<Look<true>>;
  readonly watch: Watch;
  readonly close: () => Promise<void>;
}

function followingOf(scope: StepScope<'host' | 'inventory' | 'clock'>): Following {
  let ring = (): void => undefined;
  const tasks = tasksOf(scope, () => ring());
  const known = knownHostsOf(scope, tasks);
  const reports = hostReportsOf(scope, tasks);
  const logs = mcsLogsOf(scope);
  const files = changingWatch(scope, () => ring());
  const strangers = strangersOf(known);
  const hold = holdOf(scope);
  /** How often the service had told its hosts when the report of one was sent. */
  const sentAfter = new Map<string, number>();
  const isThrough = (host: InventoryHost): boolean =>
    through.has(host.stage ?? '') || reports.endOf(host) === 'accepted';

  const look = async (signal: AbortSignal): Promise<Look<true>> => {
    const { paths, asked } = await logs.read(signal);
    files.set([containerLogs, ...paths]);
    const hosts = known.hosts();
    if (hosts === undefined) {
      known.ask();
      return { status: 'the inventory service has not told its hosts yet' };
    }
    const found = [...strangers.sortOut(asked)].filter((host) => !isThrough(host));
    if (found.length > 0 && (await hold.isOn(signal))) {
      return { status: 'hosts that have asked are held back until their image is built' };
    }
    for (const host of found) {
      const isRefused = reports.endOf(host) === 'refused';
      // Its stage may have risen without us; then there is nothing to report.
      if (isRefused) known.ask();
      if (isRefused && sentAfter.get(host.id) === known.answers()) continue;
      sentAfter.set(host.id, known.answers());
      reports.send(host, stageOf(host));
    }
    const waiting = hosts.filter((host) => !isThrough(host)).map(({ name }) => name);
    return waiting.length === 0 ? { done: true } : { status: `not yet: ${waiting.join(', ')}` };
  };
  return {
    look,
    watch: (changed, signal) => {
      ring = changed;
      return new Promise((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener('abort', () => resolve(), { once: true });
      });
    },
    close: async () => {
      await Promise.all([files.close(), tasks.close()]);
    },
  };
}

interface Hold {
  /** Whether the machine-config-server of this host answers nobody. */
  readonly isOn: (signal: AbortSignal) => Promise<boolean>;
}

/**
 * The server writes down who asks before it knows what it answers, and its word about an answer that failed names
 * nobody. So the file tells that it is kept without while images are built. Who has asked by then is given his Ignition
 * within seconds of its end: Ignition asks again after five at most. It ends once and for all.
 */
function holdOf({ host, note, config }: StepScope<'host'>): Hold {
  let isOver = !isActive(buildsOsImages, config);
  return {
    isOn: async (signal) => {
      if (isOver) return false;
      try {
        isOver = (await host.realPath(heldControllerConfig, signal)) === undefined;
      } catch (error) {
        signal.throwIfAborted();
        const { code, message } = asAgentError(error);
        note('debug', 'it is not known whether hosts are held back', { code, reason: message });
      }
      return !isOver;
    },
  };
}

interface Strangers {
  /** The hosts of these addresses. Of those that have none the service is asked once more. */
  readonly sortOut: (asked: ReadonlySet<string>) => ReadonlySet<InventoryHost>;
}

/** Keeps apart addresses that the service may still get to know and those it was asked for in vain. */
function strangersOf(known: KnownHosts): Strangers {
  const strange = new Set<string>();
  let answers = 0;
  return {
    sortOut: (asked) => {
      const index = known.index();
      const found = new Map([...asked].map((address) => [address, index?.at(address)]));
      const unknown = [...found].filter(([, host]) => host === undefined).map(([at]) => at);
      // The first answer was asked for before anybody had come.
      if (answers > 0 && known.answers() > answers) for (const one of unknown) strange.add(one);
      answers = known.answers();
      if (unknown.some((address) => !strange.has(address))) known.ask();
      return new Set([...found.values()].filter((host) => host !== undefined));
    },
  };
}
