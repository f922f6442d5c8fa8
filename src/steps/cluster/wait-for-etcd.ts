import type { Look } from '../../engine/wait.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { ControlPlane } from '../bootstrap/facts.ts';
import { step, type StepScope } from '../step.ts';
import { longestWait } from './cluster-wait.ts';
import { etcdFailure } from './etcd-failures.ts';
import { readUnitLife, renderUnitLife, unitLifeArgv } from './unit-life.ts';
import { unitMonitorArgv, unitStatus, unitStatusArgv, unitWatch } from './unit-watch.ts';

/** Tells the cluster that its bootstrap is over, and ends then (openshift/installer). */
const unit = 'progress.service';

/** How much of what systemd says goes into the failure. */
const reasonLength = 1000;

/**
 * Waits until the bootstrap is declared complete, upon which the etcd operator takes the member on
 * this host away. A unit that failed for good ends the wait; systemd starts it again by itself
 * before it says so.
 */
export const waitForEtcd = step({
  id: 'cluster/wait-for-etcd',
  title: 'Wait until the bootstrap of etcd is complete',
  stage: 'Waiting for bootkube',
  stageInfo: () => 'waiting for ETCD bootstrap to be complete',
  uses: ['host'],
  needs: { controlPlane: ControlPlane },
  limit: longestWait + minutes(10),
  waitsFor: `${unit} to have ended`,
  preview: () => [unitMonitorArgv([unit]), unitLifeArgv(unit), unitStatusArgv(unit)],
  run: async (scope) => {
    const { host, until, signal, note } = scope;
    await until('the bootstrap of etcd is complete', () => look(scope), {
      watch: unitWatch(host, [unit]),
      every: seconds(5),
      within: longestWait,
    });
    note('info', `${unit} has ended`, { status: await unitStatus(host, unit, signal) });
  },
});

async function look({ host, signal }: StepScope<'host'>): Promise<Look<true>> {
  const life = await readUnitLife(host, unit, signal);
  if (life.state === 'inactive') return { done: true };
  const status = renderUnitLife(unit, life);
  if (life.state !== 'failed') return { status };
  const told = await unitStatus(host, unit, signal);
  throw etcdFailure('cluster.etcd-bootstrap-failed', status, {
    context: { unit, result: life.result, log: told.slice(-reasonLength) },
  });
}
