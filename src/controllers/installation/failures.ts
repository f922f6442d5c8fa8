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
 * A signal for clean-up when a controller stops: it times out by itself, and is aborted if the
 * lease is lost. By then another controller may use the objects that this one created.
 */
export const cleanUpSignal = ({ reason }: AbortSignal): AbortSignal =>
  isLeaseLost(reason) ? AbortSignal.abort(reason) : new AbortController().signal;
