import { failuresOf, type FailureTable } from '../../model/failure.ts';

/** What can go wrong with etcd of the cluster that is being born. */
export const etcdFailures = {
  'cluster.etcd-not-overridden': {
    kind: 'cluster',
    title: 'The etcd operator did not keep the override',
    hint: 'look at the object etcd/cluster and at who else writes it: oc get etcd cluster -o yaml',
  },
  'cluster.etcd-not-restored': {
    kind: 'cluster',
    title: 'The override of the etcd operator could not be taken back',
    hint: 'look at spec.unsupportedConfigOverrides of etcd/cluster and at who else writes it',
  },
  'cluster.etcd-bootstrap-failed': {
    kind: 'cluster',
    title: 'The bootstrap of the cluster was not brought to its end',
    hint: 'read the log of progress.service and of bootkube.service on the bootstrap host',
  },
} as const satisfies FailureTable;

/** Builds an error about etcd. */
export const etcdFailure = failuresOf(etcdFailures);
