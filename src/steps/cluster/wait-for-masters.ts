import { minutes } from '../../model/duration.ts';
import { ControlPlane } from '../bootstrap/facts.ts';
import { step } from '../step.ts';
import { longestWait } from './cluster-wait.ts';
import { waitForNodes } from './node-wait.ts';

/** Waits until enough masters have joined the control plane that this host runs for them. */
export const waitForMasters = step({
  id: 'cluster/wait-for-masters',
  title: 'Wait until the masters have joined',
  stage: 'Waiting for control plane',
  stageInfo: () => 'Waiting for masters to join bootstrap control plane',
  uses: ['kube', 'inventory', 'clock'],
  needs: { controlPlane: ControlPlane },
  limit: longestWait + minutes(30),
  waitsFor: 'two masters beside this host, Ready and reported as Joined; one where there are two',
  run: (scope) => waitForNodes(scope, 'master'),
});
