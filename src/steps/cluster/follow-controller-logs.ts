import { hours, minutes } from '../../model/duration.ts';
import { ControlPlane } from '../bootstrap/facts.ts';
import { step } from '../step.ts';
import { longestWait } from './cluster-wait.ts';
import { hasService } from '../conditions.ts';
import { uploadControllerLogs } from './controller-logs.ts';

const uploadEvery = minutes(5);

/** Uploads the log of the controller again and again while the host is installed. */
export const followControllerLogs = step({
  id: 'cluster/follow-controller-logs',
  title: 'Upload the log of the controller every five minutes',
  uses: ['kube', 'inventory', 'host', 'clock'],
  needs: { controlPlane: ControlPlane },
  when: hasService,
  // Several waits of the main line may come to their ends while this one goes on.
  limit: 4 * longestWait + hours(1),
  run: async (scope) => {
    for (;;) {
      await scope.clock.sleep(uploadEvery, scope.signal);
      await uploadControllerLogs(scope);
    }
  },
});
