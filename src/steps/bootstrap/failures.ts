import { failuresOf, type FailureTable } from '../../model/failure.ts';

/** Failures of bringing the temporary control plane up. */
export const bootstrapFailures = {
  'bootstrap.no-source': {
    kind: 'input',
    title: 'There is nothing to fetch bootstrap.ign from',
    hint: 'set service.url, or s3.endpoint with s3.bucket; ignition.url and ignition.file name the config of one host only',
  },
  'bootstrap.no-mco-image': {
    kind: 'input',
    title: 'The machine-config-operator image of the release is not known',
    hint: 'set images.mco (flag --mco-image) to the pull spec of the release',
  },
  'bootstrap.no-controller-image': {
    kind: 'input',
    title: 'The image of the in-cluster controller is not known',
    hint: 'set images.controller (flag --controller-image)',
  },
  'bootstrap.not-applied': {
    kind: 'host',
    title: 'The bootstrap Ignition could not be put onto the live system',
    hint: 'read the output of podman in the message; the image must be pulled, and the pull secret fit it',
  },
  'bootstrap.no-public-key': {
    kind: 'host',
    title: 'The SSH key of this host has no public half',
    hint: 'remove /root/.ssh/id_rsa and run again; a new key is made',
  },
  'bootstrap.overlay-failed': {
    kind: 'host',
    title: 'The node image could not be laid over the live system',
    hint: 'look at "journalctl -u node-image-pull -u node-image-overlay" on the host',
  },
  'bootstrap.no-oc': {
    kind: 'unsupported',
    title: 'The live system has no oc, and nothing brings it',
    hint: 'boot from an image of the release of the cluster; live images without oc need OpenShift 4.19 or newer',
  },
} as const satisfies FailureTable;

/** Builds an error of bringing the temporary control plane up. */
export const bootstrapFailure = failuresOf(bootstrapFailures);
