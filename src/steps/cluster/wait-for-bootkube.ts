import type { PollResult } from '../../engine/wait.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { ControlPlane } from '../bootstrap/start-services.ts';
import { step, type StepScope } from '../step.ts';
import { longestWait, together } from './kube-watch.ts';
import {
  readUnitProperties,
  renderUnitProperties,
  unitPropertiesArgv,
  unitMonitorArgv,
  unitStatus,
  unitStatusArgv,
  unitWatch,
} from './systemd-unit.ts';

const unit = 'bootkube.service';
const directory = '/opt/openshift';

/** bootkube.sh writes it when the control plane of the cluster runs (openshift/installer). */
const doneFile = '.bootkube.done';

/**
 * Waits until bootkube has started the control plane of the cluster. systemd restarts a bootkube that
 * failed, which often helps, so a failure is shown in the status and does not end the wait.
 */
export const waitForBootkube = step({
  id: 'cluster/wait-for-bootkube',
  title: 'Wait for bootkube to finish',
  stage: 'Waiting for bootkube',
  uses: ['host'],
  needs: { controlPlane: ControlPlane },
  limit: longestWait + minutes(10),
  waitsFor: `the file ${directory}/${doneFile}, which bootkube writes last`,
  preview: () => [unitMonitorArgv([unit]), unitPropertiesArgv(unit), unitStatusArgv(unit)],
  run: async (scope) => {
    const { host, until, signal, note } = scope;
    const file = `${directory}/${doneFile}`;
    await until('bootkube has finished', () => poll(scope), {
      watch: together(
        (changed, quiet) => host.watch([file], changed, quiet),
        unitWatch(host, [unit]),
      ),
      every: seconds(30),
      within: longestWait,
    });
    note('info', `${unit} has finished`, { status: await unitStatus(host, unit, signal) });
  },
});

async function poll({ host, signal }: StepScope<'host'>): Promise<PollResult<true>> {
  const names = await host.list(directory, signal);
  if (names.includes(doneFile)) return { done: true };
  return { status: renderUnitProperties(unit, await readUnitProperties(host, unit, signal)) };
}
