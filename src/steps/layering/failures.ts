import { failuresOf, type FailureTable } from '../../model/failure.ts';

/** Failures of building operating systems during an installation. */
export const layeringStepFailures = {
  'layering.release-too-old': {
    kind: 'unsupported',
    title: 'OpenShift cannot use an OS image that is built during its installation',
    hint: 'install OpenShift 4.18.21 or newer, or set layering.mode to off',
  },
  'layering.nothing-to-build': {
    kind: 'input',
    title: 'OS images are to be built, and no manifest holds a MachineOSConfig',
    hint: 'add a MachineOSConfig to the manifests of the cluster, or set layering.mode to auto',
  },
  'layering.push-to-unusable': {
    kind: 'input',
    title: 'The images of the pools cannot be pushed to what layering.pushTo names',
    hint: 'set it to HOST or HOST/NAMESPACE; HOST needs a dot',
  },
  'layering.no-push-credentials': {
    kind: 'input',
    title: 'There are no credentials to push the images of the pools',
    hint: 'add credentials for the registry of layering.pushTo to the pull secret, or add MachineOSConfigs with push Secrets of their own',
  },
  'layering.needs-disk': {
    kind: 'unsupported',
    title: 'OS images cannot be built on a host that writes no disk',
    hint: 'remove the MachineOSConfigs from the manifests, or install to a disk without image.existingRoot',
  },
  'layering.single-node': {
    kind: 'unsupported',
    title: 'No OS image can be built while a single-node cluster is installed',
    hint: 'remove the MachineOSConfigs from the manifests, and apply them once the node runs',
  },
  'layering.not-stashed': {
    kind: 'host',
    title: 'A MachineOSConfig that was among the manifests is missing',
    hint: 'something else changed /opt/openshift during the installation; boot the live medium and install again',
  },
  'layering.not-rendered': {
    kind: 'cluster',
    title: 'The bootstrap control plane did not render the MachineConfig of a pool',
    hint: 'read the log of container machine-config-controller in /var/log/containers on the bootstrap host',
  },
  'layering.not-served': {
    kind: 'host',
    title:
      'The MachineConfig for the masters does not hold the built OS image after it was written',
    hint: 'check /etc/mcs/bootstrap/machine-configs on the bootstrap host; the file system may be full or read-only',
  },
  'layering.repository-unusable': {
    kind: 'input',
    title: 'The setting layering.repository is not a valid image repository',
    hint: 'set it to HOST/[NAMESPACE/]NAME, without tag and digest; HOST needs a dot',
  },
  'layering.served-torn': {
    kind: 'cluster',
    title: 'The machine-config-server serves a config that names two different OS images',
    hint: 'compare the MachineOSConfig of the pool with its MachineOSBuild; the node would never become Done',
  },
  'layering.served-lost': {
    kind: 'host',
    title: 'A file that an earlier step wrote to the host is missing',
    hint: 'run again with --fresh; nothing else may change these files during the installation',
  },
  'layering.staging-left': {
    kind: 'bug',
    title:
      'Files on the written disk refer to the registry of the bootstrap host, which is about to stop',
    hint: 'remove the files that the message names from the disk, or install again; report it with the log',
  },
  'layering.manifest-unusable': {
    kind: 'host',
    title: 'A manifest that layering needs is missing or holds something else',
    hint: 'check the file that the message names, and what else changes it',
  },
  'layering.images-unknown': {
    kind: 'cluster',
    title: 'The cluster does not name the OS images of its release',
    hint: 'check ConfigMap machine-config-osimageurl in namespace openshift-machine-config-operator',
  },
  'layering.no-image': {
    kind: 'bug',
    title: 'A pool has no OS image to hand over',
    hint: 'report this with the log',
  },
  'layering.build-in-the-way': {
    kind: 'cluster',
    title: 'Another MachineOSBuild already has the name that the hand-over needs',
    hint: 'find out who created it; if it is not needed, run oc delete machineosbuild NAME, then run again',
  },
  'layering.os-config-differs': {
    kind: 'cluster',
    title: 'The MachineOSConfig in the cluster differs from that of the installation',
    hint: 'compare the two; if the one in the cluster is not needed, delete it and run again',
    isFinal: true,
  },
  'layering.not-kept': {
    kind: 'cluster',
    title: 'The cluster did not keep what was written to an object of the hand-over',
    hint: 'check the object that the message names, and what else changes it',
  },
  'layering.other-image-served': {
    kind: 'remote',
    title: 'This host would be served another OS image than the one that was built',
    hint: 'check the pool of the masters: bootwright layer status --kubeconfig FILE --pool master',
  },
  'layering.staging-referenced': {
    kind: 'cluster',
    title:
      'Objects in the cluster refer to the registry of the bootstrap host, which is about to stop',
    hint: 'the message names the objects; nodes could not pull their OS image later, so install again',
  },
} as const satisfies FailureTable;

/** Builds an error of building operating systems during an installation. */
export const layeringStepFailure = failuresOf(layeringStepFailures);
