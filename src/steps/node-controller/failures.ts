import { failuresOf, type FailureTable } from '../../model/failure.ts';

/** Failures of the controller of nodes. */
export const nodeControllerFailures = {
  'node-controller.etcd-not-healthy': {
    kind: 'cluster',
    title: 'No further master is changed while etcd could lose its quorum',
    hint: 'look at the pods of etcd in openshift-etcd; the roll-out goes on once one may be away and a quorum is left',
  },
} as const satisfies FailureTable;

/** Builds an error of the controller of nodes. */
export const nodeControllerFailure = failuresOf(nodeControllerFailures);
