import { failuresOf, type FailureTable } from '../../model/failure.ts';
import { isLeaseLost } from '../../kube/lease.ts';

/** Failures of the controller in the cluster. */
export const controllerFailures = {
  'controller.not-gathered': {
    kind: 'cluster',
    title: 'The state of the cluster could not be gathered and uploaded',
    hint: 'run `oc adm must-gather` by hand; the message has what the pod said last',
  },
  'controller.token-rejected': {
    kind: 'remote',
    title: 'The inventory service has rejected the token of the controller for two minutes',
    hint: 'put a token that it takes into the Secret assisted-installer-controller-secret; the controller reads it again after each rejection, and continues where it stopped',
  },
} as const satisfies FailureTable;

/** Builds an error of the controller. */
export const controllerFailure = failuresOf(controllerFailures);

/**
 * For what a controller that stops takes back: ends by itself, unless the lease is lost. By then
 * another controller may work with what this one has made.
 */
export const cleanUpSignal = ({ reason }: AbortSignal): AbortSignal =>
  isLeaseLost(reason) ? AbortSignal.abort(reason) : new AbortController().signal;
