import { engineFailure } from '../../../engine/failures.ts';
import { limited } from '../../../engine/limit.ts';
import { seconds } from '../../../model/duration.ts';
import type { KubeObject, KubeSelection } from '../../../ports/kube.ts';
import type { StepScope } from '../../step.ts';

/** What a look into the cluster takes. */
export type ClusterScope = Pick<StepScope<'kube' | 'clock'>, 'kube' | 'clock' | 'signal'>;

/** An API server that is not there must not hold a report of the failure up. */
const longestLook = seconds(20);

/** Asks the API server for something. @throws AgentError `step.timed-out` when it does not answer in time, `kube.*` */
export const within = <T>(
  { clock, signal }: ClusterScope,
  ask: (signal: AbortSignal) => Promise<T>,
): Promise<T> =>
  limited(
    clock,
    {
      limit: longestLook,
      signal,
      late: () => engineFailure('step.timed-out', 'the API server did not answer'),
    },
    ask,
  );

/** The objects of a selection. @throws AgentError as above */
export const listed = (
  scope: ClusterScope,
  selection: KubeSelection,
): Promise<readonly KubeObject[]> => within(scope, (signal) => scope.kube.list(selection, signal));
