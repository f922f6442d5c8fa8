import { failuresOf, type FailureTable } from '../../model/failure.ts';

/** Failures of the new cluster, of its etcd and of the record that the bootstrap host leaves. */
export const clusterFailures = {
  'cluster.bootkube-failed': {
    kind: 'cluster',
    title: 'The temporary control plane failed, and systemd does not start bootkube again',
    hint: 'read the log on the bootstrap host: journalctl -u bootkube.service -u kubelet.service; then boot the live medium again, which installs from the beginning',
  },
  'cluster.bad-record': {
    kind: 'cluster',
    title: 'The record of the bootstrap host in the cluster cannot be read',
    hint: 'check ConfigMap assisted-installer/bootwright-bootstrap-host; delete it once the host has joined',
  },
  'cluster.record-not-left': {
    kind: 'cluster',
    title: 'The record of the bootstrap host in the cluster differs from what was sent',
    hint: 'delete ConfigMap assisted-installer/bootwright-bootstrap-host, and run the same "podman run" line again',
  },
  'cluster.etcd-not-overridden': {
    kind: 'cluster',
    title: 'The etcd operator did not keep the override',
    hint: 'check who else writes etcd/cluster: oc get etcd cluster -o yaml --show-managed-fields',
  },
  'cluster.etcd-not-restored': {
    kind: 'cluster',
    title: 'The override of the etcd operator could not be removed',
    hint: 'check who else writes etcd/cluster: oc get etcd cluster -o yaml --show-managed-fields',
  },
  'cluster.etcd-bootstrap-failed': {
    kind: 'cluster',
    title: 'The bootstrap of the cluster did not complete',
    hint: 'read the log on the bootstrap host: journalctl -u progress.service -u bootkube.service',
  },
} as const satisfies FailureTable;

/** Builds an error about the new cluster. */
export const clusterFailure = failuresOf(clusterFailures);
