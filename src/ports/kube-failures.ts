import { failuresOf, type FailureTable } from '../model/failure.ts';

/** Failures of the API server; every adapter of the kube port throws these. */
export const kubeFailures = {
  'kube.no-credentials': {
    kind: 'remote',
    title: 'There are no credentials for the cluster',
    hint: 'look for the kubeconfig on the bootstrap host, or at the inventory service',
  },
  'kube.bad-credentials': {
    kind: 'input',
    title: 'The kubeconfig cannot be used',
    hint: 'compare cluster.kubeconfig with the kubeconfig of the cluster',
  },
  'kube.unreachable': {
    kind: 'remote',
    title: 'The API server cannot be reached',
    hint: 'look at the control plane: bootkube.service on the bootstrap host, then the masters',
  },
  'kube.denied': {
    kind: 'remote',
    title: 'The API server refuses the credentials',
    hint: 'compare the kubeconfig with the cluster; its certificate may have ended',
  },
  'kube.not-found': {
    kind: 'remote',
    title: 'The API server has no such object',
    hint: 'look at the object and its kind in the cluster',
  },
  'kube.conflict': {
    kind: 'remote',
    title: 'The object was changed by another, or is there already',
    hint: 'look at who else writes the object, then run again',
  },
  'kube.invalid': {
    kind: 'remote',
    title: 'The API server refuses an object',
    hint: 'the message names the field; compare the release of the cluster with what is supported',
  },
  'kube.failed': {
    kind: 'remote',
    title: 'The API server answers with an error',
    hint: 'look at the log of the API server',
  },
} as const satisfies FailureTable;

/** Builds an error of the API server. */
export const kubeFailure = failuresOf(kubeFailures);
