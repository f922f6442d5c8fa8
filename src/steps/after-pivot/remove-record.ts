import { minutes } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { step } from '../step.ts';
import { clusterRoleRef } from './manifests.ts';
import { recordRef } from './record.ts';

/**
 * Removes the record, then the role in the cluster, which owns whatever else was left; after that
 * this program may do nothing more. The job itself stays for a day, with its log.
 */
export const removeRecord = step({
  id: 'after-pivot/remove-record',
  title: 'Remove the record and the permissions of this job',
  uses: ['kube'],
  limit: minutes(5),
  run: async ({ kube, signal, note }) => {
    await kube.remove(recordRef, signal);
    try {
      await kube.remove(clusterRoleRef, signal);
    } catch (error) {
      if (!(error instanceof AgentError) || error.code !== 'kube.denied') throw error;
      // The role itself allows it: it is gone, and only the word of that was lost.
      note('info', 'the permissions are already removed', { reason: error.message });
    }
  },
});
