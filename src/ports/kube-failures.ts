import { AgentError, failuresOf, type FailureTable } from '../model/failure.ts';
import type { KubeView } from './kube.ts';

/** Failures of the API server; every adapter of the kube port throws these. */
export const kubeFailures = {
  'kube.no-credentials': {
    kind: 'remote',
    title: 'No credentials for the cluster',
    hint: 'check that the kubeconfig exists on the bootstrap host or at the inventory service',
  },
  'kube.bad-credentials': {
    kind: 'input',
    title: 'The kubeconfig cannot be used',
    hint: 'compare cluster.kubeconfig with the kubeconfig of the cluster',
  },
  'kube.unreachable': {
    kind: 'remote',
    title: 'The API server cannot be reached',
    hint: 'check the control plane: bootkube.service on the bootstrap host, then the masters',
  },
  'kube.untrusted': {
    kind: 'remote',
    title: 'The certificate of the API server is not trusted',
    hint: "check the clock of the host, then compare the CA in the kubeconfig with the cluster's",
  },
  'kube.denied': {
    kind: 'remote',
    title: 'The API server refuses the credentials',
    hint: 'compare the kubeconfig with the cluster; its certificate may have expired',
  },
  'kube.not-found': {
    kind: 'remote',
    title: 'The API server has no such object',
    hint: 'check with `oc get` whether the object and its kind exist',
  },
  'kube.conflict': {
    kind: 'remote',
    title: 'The object was changed by another client, or already exists',
    hint: 'find out who else writes the object (metadata.managedFields), then run the same "podman run" or "bootwright" line again',
  },
  'kube.invalid': {
    kind: 'remote',
    isFinal: true,
    title: 'The API server refuses an object',
    hint: 'the message names the field; compare the release of the cluster with what is supported',
  },
  'kube.busy': {
    kind: 'remote',
    title: 'The API server asks to wait: it is overloaded, or still initializing its storage',
    hint: 'wait until it has started; a request is retried for a minute before it fails',
  },
  'kube.disruption-budget': {
    kind: 'cluster',
    title: 'A PodDisruptionBudget does not allow the eviction of a pod now',
    hint: 'the message names the budget: wait until more of its pods are Ready, or change the budget',
  },
  'kube.failed': {
    kind: 'remote',
    title: 'The API server answers with an error',
    hint: 'read the log of the API server',
  },
} as const satisfies FailureTable;

/** Builds an error of the API server. */
export const kubeFailure = failuresOf(kubeFailures);

/**
 * Whether the API server forbids a request (403). A 401 does not count: the server may soon know
 * the caller again.
 */
export const isForbidden = (error: unknown): error is AgentError =>
  error instanceof AgentError && error.code === 'kube.denied' && error.context['status'] === 403;

/**
 * Whether the API server refuses to create an object: for its content, by a quota, or by a role.
 */
export const isRefused = (error: unknown): error is AgentError =>
  isForbidden(error) || (error instanceof AgentError && error.code === 'kube.invalid');

/** Whether an object of the name exists, or has changed since it was read (409). */
export const isConflict = (error: unknown): error is AgentError =>
  error instanceof AgentError && error.code === 'kube.conflict';

/** The reason why a view may be incomplete; undefined if it is complete. */
export function gapIn({
  isSynced,
  lastError,
}: Pick<KubeView, 'isSynced' | 'lastError'>): string | undefined {
  if (lastError !== undefined) return apiErrorText(lastError);
  return isSynced ? undefined : 'the API server has not listed the objects yet';
}

/**
 * The reason why the API server does not answer, in words that stay the same while the cause does:
 * each new text beside a stage gives the host another hour at the service. The log has the whole
 * message.
 */
export function apiErrorText({ code, context: { status, untrusted } }: AgentError): string {
  if (code === 'kube.untrusted')
    return `the certificate of the API server is not trusted: ${String(untrusted)}`;
  const by = typeof status === 'number' ? `${status}` : code;
  if (code === 'kube.no-credentials') return 'there is no kubeconfig for the cluster yet';
  if (code === 'kube.denied') return `the API server refuses the credentials (${by})`;
  if (code === 'kube.busy') return `the API server asks to wait (${by})`;
  if (code === 'kube.invalid') return `the API server refuses the request (${by})`;
  return `the API server does not answer (${by})`;
}
