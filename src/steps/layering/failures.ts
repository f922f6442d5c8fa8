import { failuresOf, type FailureTable } from '../../model/failure.ts';

/** Failures of building operating systems during an installation. */
export const layeringStepFailures = {
  'layering.release-too-old': {
    kind: 'unsupported',
    title: 'The release cannot take over an operating system that is built during its installation',
    hint: 'install OpenShift 4.18.21 or newer, or set layering.mode to off',
  },
  'layering.nothing-to-build': {
    kind: 'input',
    title: 'Operating systems are to be built, and no manifest asks for one',
    hint: 'add a MachineOSConfig to the manifests of the cluster, or set layering.mode to auto',
  },
  'layering.push-to-unusable': {
    kind: 'input',
    title: 'No image of a pool can have its name below layering.pushTo',
    hint: 'set it to HOST or HOST/NAMESPACE; the host needs a dot in its name',
  },
  'layering.no-push-credentials': {
    kind: 'input',
    title: 'Nothing may push the images of the pools',
    hint: 'add credentials for the registry of layering.pushTo to the pull secret, or write MachineOSConfigs with a push Secret of their own',
  },
  'layering.needs-disk': {
    kind: 'unsupported',
    title: 'Operating systems are to be built on a host that writes no disk',
    hint: 'take the MachineOSConfigs out of the manifests, or install to a disk without image.existingRoot',
  },
  'layering.single-node': {
    kind: 'unsupported',
    title: 'No operating system can be built while the only node of a cluster is installed',
    hint: 'take the MachineOSConfigs out of the manifests and apply them once the node runs',
  },
  'layering.not-stashed': {
    kind: 'host',
    title: 'A MachineOSConfig that was among the manifests is gone',
    hint: 'nothing else may change /opt/openshift while the host is installed; start over from the live medium',
  },
  'layering.not-rendered': {
    kind: 'cluster',
    title: 'The temporary control plane did not render the MachineConfig of a pool',
    hint: 'look at the log of the container machine-config-controller below /var/log/containers on the bootstrap host',
  },
  'layering.not-served': {
    kind: 'host',
    title: 'The MachineConfig that masters are served does not hold the image after it was written',
    hint: 'look at /etc/mcs/bootstrap/machine-configs on the bootstrap host; the file system may be full or read-only',
  },
  'layering.repository-unusable': {
    kind: 'input',
    title: 'No node can have its image from what layering.repository names',
    hint: 'set it to HOST/[NAMESPACE/]NAME, without tag and digest; the host needs a dot in its name',
  },
  'layering.served-torn': {
    kind: 'cluster',
    title: 'The machine-config-server names an image in one place and another in the next',
    hint: 'compare the MachineOSConfig of the pool with its MachineOSBuild; the node would never be done',
  },
  'layering.served-lost': {
    kind: 'host',
    title: 'What an earlier step kept on the host is gone',
    hint: 'run again with --fresh; nothing else may change these files while the host is installed',
  },
  'layering.staging-left': {
    kind: 'bug',
    title: 'The written disk refers to the registry of the bootstrap host, which goes away',
    hint: 'take what the message names off the disk, or install again; report it with the log',
  },
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

/** Builds an error of building operating systems during an installation. */
export const layeringStepFailure = failuresOf(layeringStepFailures);
