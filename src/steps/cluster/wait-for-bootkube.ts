import type { Look } from '../../engine/wait.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { ControlPlane } from '../bootstrap/start-services.ts';
import { step, type StepScope } from '../step.ts';
import { longestWait, together } from './kube-watch.ts';
import {
  readUnitLife,
  renderUnitLife,
  unitLifeArgv,
  unitMonitorArgv,
  unitStatus,
  unitStatusArgv,
  unitWatch,
} from './systemd-unit.ts';

const unit = 'bootkube.service';
const directory = '/opt/openshift';

/** bootkube.sh leaves it behind when the control plane of the cluster runs (openshift/installer). */
const doneFile = '.bootkube.done';

/**
 * Waits until bootkube has brought the control plane of the cluster up. A bootkube that fails is
 * started again by systemd and often comes through then: it is told, and waited for further.
 */
export const waitForBootkube = step({
  id: 'cluster/wait-for-bootkube',
  title: 'Wait until bootkube is done',
  stage: 'Waiting for bootkube',
  uses: ['host'],
  needs: { controlPlane: ControlPlane },
  limit: longestWait + minutes(10),
  waitsFor: `the file ${directory}/${doneFile}, which bootkube writes last`,
  preview: () => [unitMonitorArgv([unit]), unitLifeArgv(unit), unitStatusArgv(unit)],
  run: async (scope) => {
    const { host, until, signal, note } = scope;
    const file = `${directory}/${doneFile}`;
    await until('bootkube is done', () => look(scope), {
      watch: together(
        (changed, quiet) => host.watch([file], changed, quiet),
        unitWatch(host, [unit]),
      ),
      every: seconds(30),
      within: longestWait,
    });
    note('info', `${unit} is done`, { status: await unitStatus(host, unit, signal) });
  },
});

async function look({ host, signal }: StepScope<'host'>): Promise<Look<true>> {
  const names = await host.list(directory, signal);
  if (names.includes(doneFile)) return { done: true };
  return { status: renderUnitLife(unit, await readUnitLife(host, unit, signal)) };
}
