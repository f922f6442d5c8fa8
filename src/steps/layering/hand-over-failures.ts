import { failuresOf, type FailureTable } from '../../model/failure.ts';

/** What can go wrong while the cluster is told of the images that were built for it. */
export const handOverFailures = {
  'layering.manifest-unusable': {
    kind: 'host',
    title: 'A manifest that layering needs is not on the host, or holds something else',
    hint: 'look at the file that the message names, and at who else changes it',
  },
  'layering.images-unknown': {
    kind: 'cluster',
    title: 'The cluster does not say which images of the operating system its release has',
    hint: 'look at the ConfigMap machine-config-osimageurl in openshift-machine-config-operator',
  },
  'layering.no-image': {
    kind: 'bug',
    title: 'A pool that was to be layered has no image to be handed over',
    hint: 'report this with the log',
  },
  'layering.build-in-the-way': {
    kind: 'cluster',
    title: 'Another MachineOSBuild has the name of the one that hands the image over',
    hint: 'look at who made it; when it may go, delete it and run again: oc delete machineosbuild NAME',
  },
  'layering.os-config-differs': {
    kind: 'cluster',
    title: 'The cluster has another MachineOSConfig than the installation was given',
    hint: 'compare the two; when the one in the cluster may go, delete it and run again',
  },
  'layering.not-kept': {
    kind: 'cluster',
    title: 'The cluster did not keep what was written about a built image',
    hint: 'look at the object that the message names and at who else writes it',
  },
  'layering.other-image-served': {
    kind: 'remote',
    title: 'This host would be served another operating system than the one that was built',
    hint: 'look at the pool of the masters: bootwright layer status --kubeconfig FILE --pool master',
  },
  'layering.staging-referenced': {
    kind: 'cluster',
    title: 'The cluster refers to the registry of the bootstrap host, which is about to go away',
    hint: 'the message names the objects; nodes could not pull their image any more, so install anew',
  },
} as const satisfies FailureTable;

/** Builds an error of the hand-over. */
export const handOverFailure = failuresOf(handOverFailures);
