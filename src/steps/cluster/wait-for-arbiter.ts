import { minutes } from '../../model/duration.ts';
import { ControlPlane } from '../bootstrap/facts.ts';
import { step } from '../step.ts';
import { longestWait } from './cluster-wait.ts';
import { waitForNodes } from './node-wait.ts';

/** Waits until the arbiter has joined, in a cluster that has one. */
export const waitForArbiter = step({
  id: 'cluster/wait-for-arbiter',
  title: 'Wait until the arbiter has joined',
  uses: ['kube', 'inventory', 'clock'],
  needs: { controlPlane: ControlPlane },
  limit: longestWait + minutes(30),
  waitsFor: 'one arbiter, Ready and reported as Joined; not at all where there is none',
  run: (scope) => waitForNodes(scope, 'arbiter'),
});
