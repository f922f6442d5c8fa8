// The units of the bootstrap host that start a cluster, as in openshift/installer.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Machine } from '../host/machine.ts';
import type { UnitBehaviour } from '../host/units.ts';
import type { ClusterEvent } from './cluster-state.ts';
import type { ClusterWork } from './site.ts';

/** bootkube does not start again after its end; progress ends when the bootstrap is complete. */
export function simulateUnits(work: ClusterWork, emit: (event: ClusterEvent) => void): void {
  const { onStart } = work.bootstrap.units;
  onStart.set('bootkube.service', async (become, signal) => {
    if (work.state().isBootkubeDone) return;
    become('active');
    const { bootkubeCrashes = false, bootkubeFails = 0 } = work.plan;
    if (bootkubeCrashes || bootkubeFails > 0) work.strike('bootkube.service fails');
    if (bootkubeCrashes) return crash(work.bootstrap, become, signal);
    await fail(work, { unit: 'bootkube.service', times: bootkubeFails, become, signal });
    emit({ kind: 'bootkube-started' });
  });
  onStart.set('progress.service', (become) => {
    become('active');
    if (work.state().isBootstrapComplete) become('inactive');
  });
}

/** progress.service has finally reported the bootstrap complete. */
export async function endProgress(work: ClusterWork): Promise<void> {
  const { bootstrap, plan, signal } = work;
  const become: Become = (state, details) => {
    bootstrap.units.become('progress.service', state, details);
  };
  const { progressFails = 0 } = plan;
  if (progressFails > 0) work.strike('progress.service fails');
  await fail(work, { unit: 'progress.service', times: progressFails, become, signal });
  become('inactive');
}

type Become = Parameters<UnitBehaviour>[0];

const RUNS_MILLIS = 300;

/** Both units have `Restart=on-failure` and `RestartSec=5s`, shortened in the lab. */
const RESTART_MILLIS = 1500;

/** An agent on a busy machine may poll later than that; it may not poll at all. */
const LONGEST_RESTART_MILLIS = 60_000;

/** A unit that fails a number of times. */
interface Failing {
  readonly unit: string;
  readonly times: number;
  readonly become: Become;
  readonly signal: AbortSignal;
}

/**
 * A unit fails and is restarted. With five seconds between starts, systemd's limit of five starts
 * in ten seconds is never reached.
 */
async function fail(
  { bootstrap: { units } }: ClusterWork,
  { unit, times, become, signal }: Failing,
): Promise<void> {
  for (let restarts = 0; restarts < times; restarts += 1) {
    await sleep(RUNS_MILLIS, undefined, { signal });
    become('activating', { sub: 'auto-restart', result: 'exit-code', restarts });
    const longest = AbortSignal.any([signal, AbortSignal.timeout(LONGEST_RESTART_MILLIS)]);
    const isRead = units.read(unit, longest).catch(() => undefined);
    await Promise.all([isRead, sleep(RESTART_MILLIS, undefined, { signal })]);
    become('active', { restarts: restarts + 1 });
  }
}

/**
 * Starts that systemd allows before the unit fails for good, if a drop-in sets the limit
 * (systemd.unit(5), `StartLimitBurst=`).
 */
const START_LIMIT = 5;

/**
 * bootkube fails at each start: `auto-restart`, and in the end `failed`. Its lines are those of a
 * release whose images do not fit its bootkube.sh (okd-project/okd, issue 2293), and systemd's.
 */
async function crash(
  { journal }: Pick<Machine, 'journal'>,
  become: Become,
  signal: AbortSignal,
): Promise<void> {
  const log = (...lines: readonly string[]): void => {
    const unit = 'bootkube.service';
    journal.push(...lines.map((text) => ({ at: Date.now(), unit, text })));
  };
  const logFailure = (): void => {
    log(
      'Started Bootstrap a Kubernetes cluster.',
      'Rendering Kubernetes API server core manifests...',
      'Error: unknown flag: --operand-kubernetes-version',
      'bootkube.service: Main process exited, code=exited, status=1/FAILURE',
      "bootkube.service: Failed with result 'exit-code'.",
    );
  };
  for (let restarts = 1; restarts < START_LIMIT; restarts += 1) {
    await sleep(RUNS_MILLIS, undefined, { signal });
    logFailure();
    become('activating', { sub: 'auto-restart', result: 'exit-code', restarts: restarts - 1 });
    await sleep(RESTART_MILLIS, undefined, { signal });
    log(
      `bootkube.service: Scheduled restart job, restart counter is at ${restarts}.`,
      'Stopped Bootstrap a Kubernetes cluster.',
    );
    become('active', { restarts });
  }
  logFailure();
  log(
    'bootkube.service: Start request repeated too quickly.',
    "bootkube.service: Failed with result 'exit-code'.",
    'Failed to start Bootstrap a Kubernetes cluster.',
  );
  become('failed', { result: 'start-limit-hit', restarts: START_LIMIT - 1 });
}
