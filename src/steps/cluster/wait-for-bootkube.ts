import { silently, untilOf, type PollResult, type Watch } from '../../engine/wait.ts';
import { minutes, seconds, unlimited } from '../../model/duration.ts';
import { ControlPlane } from '../bootstrap/start-services.ts';
import { step, type StepScope } from '../step.ts';
import { longestWait, combineWatches } from './kube-watch.ts';
import {
  describeGivenUp,
  hasFailed,
  isGivenUp,
  lastLines,
  readUnitProperties,
  unitArgvs,
  unitStatus,
  unitStatusArgv,
  unitTexts,
  unitWatch,
} from '../host/systemd-unit.ts';
import { clusterFailure } from './failures.ts';

const unit = 'bootkube.service';
const directory = '/opt/openshift';

/** bootkube.sh writes it when the control plane of the cluster runs (openshift/installer). */
const doneFile = '.bootkube.done';

/** Poll interval if no notification is available. */
const pollInterval = seconds(30);

/** The commands of a wait for bootkube. */
export const bootkubeArgvs = unitArgvs(unit);

/**
 * Waits until bootkube has started the control plane of the cluster. systemd restarts a failed
 * bootkube, which often helps; so only a bootkube that systemd has given up ends the wait.
 */
export const waitForBootkube = step({
  id: 'cluster/wait-for-bootkube',
  title: 'Wait for bootkube to finish',
  stage: 'Waiting for bootkube',
  uses: ['host'],
  needs: { controlPlane: ControlPlane },
  limit: longestWait + minutes(10),
  explain: () => `waits for the file ${directory}/${doneFile}, which bootkube writes last`,
  preview: () => [...bootkubeArgvs, unitStatusArgv(unit)],
  run: async (scope) => {
    const { host, until, signal, note } = scope;
    const file = `${directory}/${doneFile}`;
    await until('bootkube has finished', pollOf(scope), {
      watch: combineWatches(
        (changed, quiet) => host.watch([file], changed, quiet),
        unitWatch(host, [unit]),
      ),
      every: pollInterval,
      within: longestWait,
    });
    note('info', `${unit} has finished`, { status: await unitStatus(host, unit, signal) });
  },
});

function pollOf({ host, note }: StepScope<'host'>) {
  const text = unitTexts(unit);
  let failed = false;
  return async (signal: AbortSignal) => {
    const names = await host.list(directory, signal);
    if (names.includes(doneFile)) return { done: true } as const;
    const properties = await readUnitProperties(host, unit, signal);
    if (!isGivenUp(properties)) {
      const status = text(properties);
      if (!failed && hasFailed(properties)) {
        failed = true;
        note('warn', status, { log: (await lastLines(host, unit, signal)).join('\n') });
      }
      return { status, failed };
    }
    const { message, context } = await describeGivenUp(host, { unit, ...properties }, signal);
    throw clusterFailure('cluster.bootkube-failed', message, { context });
  };
}

/** Watches bootkube for another wait on its results. */
export function followedBootkube(scope: StepScope<'host' | 'clock'>) {
  let failure: string | undefined;
  const poll = pollOf(scope);
  const watch: Watch = async (changed, signal) => {
    const until = untilOf(scope.clock, signal, silently);
    const pollOnce = async (inner: AbortSignal): Promise<PollResult<true>> => {
      const result = await poll(inner);
      const now = 'status' in result && result.failed ? result.status : undefined;
      if (now !== failure) changed();
      failure = now;
      return result;
    };
    await until('bootkube has finished', pollOnce, {
      watch: unitWatch(scope.host, [unit]),
      every: pollInterval,
      within: unlimited,
    });
  };
  return {
    /**
     * Ends the wait with the failure of a bootkube that systemd has given up; notifies after a
     * restart.
     */
    watch,
    /** A status, with a note if bootkube failed and was restarted. */
    withFailure: (status: string): string =>
      failure === undefined ? status : `${status}; ${failure}`,
  };
}
