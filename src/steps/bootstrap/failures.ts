import { failuresOf, type FailureTable } from '../../model/failure.ts';

/** Failures of starting the temporary control plane. */
export const bootstrapFailures = {
  'bootstrap.no-source': {
    kind: 'input',
    title: 'No source of bootstrap.ign is configured',
    hint: 'set service.url, or s3.endpoint and s3.bucket; ignition.url and ignition.file do not apply',
  },
  'bootstrap.no-mco-image': {
    kind: 'input',
    title: 'The machine-config-operator image is not set, and the release does not name it',
    hint: 'create bootstrap.ign again, or set images.mco (flag --mco-image) to the machine-config-operator image of the release',
  },
  'bootstrap.no-controller-image': {
    kind: 'input',
    title: 'The image of the in-cluster controller is not set',
    hint: 'set images.controller (flag --controller-image)',
  },
  'bootstrap.etcd-stays-changed': {
    kind: 'input',
    title: 'No controller would restore the etcd settings that this release needs',
    hint: 'set the controller image of the service to the image of this program, or bootstrap.etcdOverride to never',
  },
  'bootstrap.bad-pull-secret': {
    kind: 'input',
    title: 'The pull secret in bootstrap.ign is not valid',
    hint: 'create the manifests and bootstrap.ign again, with the pull secret as it was downloaded',
  },
  'bootstrap.not-applied': {
    kind: 'host',
    title: 'The bootstrap Ignition could not be applied',
    hint: 'read the output of podman in the message; check the image and the pull secret',
  },
  'bootstrap.no-public-key': {
    kind: 'host',
    title: 'The SSH key of this host has no public key',
    hint: 'remove /root/.ssh/id_rsa and run the same "podman run" line again to generate a new key',
  },
  'bootstrap.overlay-failed': {
    kind: 'host',
    title: 'The node image could not be overlaid',
    hint: 'read the log on the host: journalctl -u node-image-pull -u node-image-overlay',
  },
  'bootstrap.no-oc': {
    kind: 'unsupported',
    title: 'The live system has no oc, and no unit provides it',
    hint: 'boot from a live image of the cluster release; without oc it needs OpenShift 4.19 or newer',
  },
} as const satisfies FailureTable;

/** Builds an error of starting the temporary control plane. */
export const bootstrapFailure = failuresOf(bootstrapFailures);
