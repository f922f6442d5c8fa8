import type { Config } from '../../config/schema.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { type AgentError, failuresOf, type FailureTable } from '../../model/failure.ts';
import { resetCall } from '../../model/reset.ts';
import { hostRole, knowsHost } from '../conditions.ts';
import { step } from '../step.ts';

/** Failures of an installation that the service has withdrawn. */
export const installFailures = {
  'install.cancelled': {
    kind: 'remote',
    isFinal: true,
    title: 'The inventory service has cancelled the installation of this host, or failed it',
    hint: cancelledHint(),
  },
  'install.withdrawn': {
    kind: 'remote',
    isFinal: true,
    title: 'The inventory service has cancelled, failed or reset this host while it was installed',
    hint: withdrawnHint(),
  },
} as const satisfies FailureTable;

const installFailure = failuresOf(installFailures);

function cancelledHint(clusterId?: string): string {
  return `this run has changed no disk; reset the cluster at the service (${resetCall(clusterId)}), or add --service.stopIfCancelled=false to install this host all the same`;
}

function withdrawnHint(clusterId?: string): string {
  return `the host was not rebooted, and its disk may be written in part or in full; reset the cluster at the service (${resetCall(clusterId)}) and boot the host from the discovery image again, or add --service.stopIfCancelled=false to finish it all the same`;
}

/**
 * Statuses of a host whose installation the service regards as complete: it accepts no stage any
 * more and does not withdraw the host.
 */
const installed: ReadonlySet<string> = new Set(['installed', 'added-to-existing-cluster']);

/**
 * The error that ends a run, at its next step or in a wait, because of the host's status in the
 * service; undefined if the run continues.
 */
export function withdrawal(
  { service, cluster }: Config,
  hostStatus: string,
): AgentError | undefined {
  if (!service.stopIfCancelled || installed.has(hostStatus)) return undefined;
  const said = `the inventory service has this host in status ${hostStatus}`;
  const hint = withdrawnHint(cluster.id);
  return installFailure('install.withdrawn', said, { hint, context: { hostStatus } });
}

/**
 * Time limit for the answer of the service; then the installation continues, because reports never
 * block it.
 */
const answerLimit = seconds(10);

/** The only node keeps its configured role; a bootstrap host becomes a master. */
const shownRole = (config: Config): string =>
  config.cluster.controlPlaneCount === 1 ? config.role : hostRole(config);

/**
 * Asks the service whether it still installs this host, by the report of a new stage. The service
 * accepts a repeated stage in any status of the host, so the first report of a run does not answer
 * the question.
 */
export const confirmInstallation = step({
  id: 'host/confirm-installation',
  title: 'Check that the service still installs this host',
  stage: 'Installing',
  stageInfo: shownRole,
  uses: ['reports'],
  when: knowsHost,
  limit: minutes(5),
  explain: () => 'waits for the answer to the reports so far, at most 10 seconds',
  run: async ({ reports, config, signal, note }) => {
    const { refusedIn, unanswered } = await reports.settled(answerLimit, signal);
    signal.throwIfAborted();
    if (refusedIn === undefined) {
      if (unanswered.length > 0)
        note('warn', 'the service has not confirmed this host; installing it');
      return;
    }
    const said = `the inventory service takes no report of this host in status ${refusedIn}`;
    if (config.service.stopIfCancelled) {
      const hint = cancelledHint(config.cluster.id);
      throw installFailure('install.cancelled', said, { hint, context: { hostStatus: refusedIn } });
    }
    note('warn', `${said}; installing it all the same`, { setting: 'service.stopIfCancelled' });
  },
});
