import { failuresOf, type FailureTable } from '../model/failure.ts';

/** Everything that can go wrong with an image: with what it is made from, and while it is built, kept and copied. */
export const layeringFailures = {
  'layering.malformed-file': {
    kind: 'input',
    title: 'A file is neither YAML nor JSON',
    hint: 'correct the file at the line given',
  },
  'layering.wrong-object': {
    kind: 'input',
    title: 'A file does not hold the object that is asked for',
    hint: 'give a file with the object as the cluster would take it or gives it',
  },
  'layering.os-config-invalid': {
    kind: 'input',
    title: 'A MachineOSConfig breaks a rule of the cluster',
    hint: 'run "bootwright layer lint" on the file and correct what it names',
  },
  'layering.os-config-twice': {
    kind: 'input',
    title: 'Two MachineOSConfigs are for one pool',
    hint: 'keep one MachineOSConfig for each MachineConfigPool among the manifests',
  },
  'layering.integrated-registry': {
    kind: 'input',
    title: 'An image is to be pushed to the registry of the cluster that does not exist yet',
    hint: 'name a registry in spec.renderedImagePushSpec that nodes reach at their first boot',
  },
  'layering.machine-config-invalid': {
    kind: 'input',
    title: 'A rendered MachineConfig cannot be built into an image',
    hint: 'give the rendered MachineConfig of the pool, as the cluster has it',
  },
  'layering.extension-unknown': {
    kind: 'unsupported',
    title: 'A MachineConfig asks for an extension that is not known',
    hint: 'correct spec.extensions of the MachineConfig',
  },
  'layering.kernel-unknown': {
    kind: 'unsupported',
    title: 'A MachineConfig asks for a kernel that is not known',
    hint: 'spec.kernelType must be default, realtime or 64k-pages',
  },
  'layering.no-extensions-image': {
    kind: 'input',
    title: 'Packages are asked for, and no image with them is named',
    hint: 'spec.baseOSExtensionsContainerImage of the rendered MachineConfig names it',
  },
  'layering.pools-differ': {
    kind: 'input',
    title: 'Objects that belong together are of different pools',
    hint: 'give the MachineOSConfig, the MachineConfigPool and the MachineConfig of one pool',
  },
  'layering.no-name': {
    kind: 'unsupported',
    title: 'The Machine Config Operator could not name the build',
    hint: 'take the character out of the Containerfile, or write it as an escape of the shell',
  },
  'layering.pool-missing': {
    kind: 'input',
    title: 'The cluster has no such MachineConfigPool',
    hint: 'see the pools of the cluster: oc get machineconfigpools',
  },
  'layering.served-config-invalid': {
    kind: 'cluster',
    title: 'The machine-config-server serves a config that no node can start with',
    hint: 'look at what it serves: /config/POOL on port 22623 of api-int, with the Accept header of Ignition 3',
  },
  'layering.folder-taken': {
    kind: 'input',
    title: 'The folder for a build context is none, or holds something',
    hint: 'give a folder with --out that is empty or not there yet',
  },
  'layering.not-written': {
    kind: 'host',
    title: 'The build context cannot be written',
    hint: 'give a folder with --out on a file system that can be written to',
  },
  'layering.bad-credentials': {
    kind: 'input',
    title: 'Credentials of a registry cannot be read',
    hint: 'give a Secret of type kubernetes.io/dockerconfigjson, or a file in the form of a pull secret',
  },
  'layering.no-registry-image': {
    kind: 'input',
    title: 'It is not known which image holds a registry',
    hint: 'set layering.registryImage',
  },
  'layering.registry-not-started': {
    kind: 'host',
    title: 'The registry on the bootstrap host does not answer',
    hint: 'look at "podman logs bootwright-registry" on the host, and whether its port is taken',
  },
  'layering.registry-unreachable': {
    kind: 'remote',
    title: 'A registry cannot be reached',
    hint: 'check name resolution, routes and proxies of the host, then run again',
  },
  'layering.registry-denied': {
    kind: 'input',
    title: 'A registry refuses the credentials',
    hint: 'check that the Secret may pull, or push, in this repository',
  },
  'layering.not-pullable': {
    kind: 'input',
    title: 'Nodes may not pull the image that was built for them',
    hint: 'let the pull secret of the cluster pull from that repository; nodes have no other credentials',
  },
  'layering.copy-failed': {
    kind: 'remote',
    title: 'An image could not be copied',
    hint: 'read the last lines of skopeo in the message',
  },
  'layering.digest-changed': {
    kind: 'remote',
    title: 'A registry changed an image that it was given',
    hint: 'turn off what converts or compresses images anew in that registry; nodes go by the digest',
  },
  'layering.disk-too-small': {
    kind: 'input',
    title: 'The install disk has no room to build images on',
    hint: 'name a larger disk; 32 GB more than the operating system takes are enough',
  },
  'layering.base-architecture': {
    kind: 'input',
    title: 'The base image is for another architecture than that of the host',
    hint: 'an image is built on a host of its own architecture; take the release of the right one',
  },
  'layering.no-builder': {
    kind: 'host',
    title: 'The host has neither buildah nor podman',
    hint: 'boot the host from an image that has one of them, or install one',
  },
  'layering.build-failed': {
    kind: 'input',
    title: 'The image cannot be built',
    hint: 'read the last lines of the build in the message; mend the Containerfile of the MachineOSConfig',
  },
  'layering.build-cut-off': {
    kind: 'remote',
    title: 'The build lost its network, twice',
    hint: 'check that the host reaches the registries and repositories that the Containerfile uses',
  },
  'layering.build-too-long': {
    kind: 'limit',
    title: 'The build did not end within its time',
    hint: 'look at what the build was doing in the log; layering.buildMinutes gives it more',
  },
  'layering.image-label-missing': {
    kind: 'input',
    title: 'The built image lacks a label, or has it with another value',
    hint: 'begin the last stage of the Containerfile with "FROM configs", and set none of these labels in it',
  },
  'layering.image-not-bootable': {
    kind: 'input',
    title: 'The built image does not say that machines can boot it',
    hint: 'the base must be an image of CoreOS: with the label ostree.bootable or containers.bootc',
  },
  'layering.image-kernels': {
    kind: 'input',
    title: 'The built image has not exactly one kernel',
    hint: 'let the Containerfile take the old kernel away in the step that brings the new one',
  },
  'layering.image-architecture': {
    kind: 'input',
    title: 'The built image is for another architecture than its base',
    hint: 'begin the last stage of the Containerfile with "FROM configs"',
  },
  'layering.image-wrong-config': {
    kind: 'input',
    title: 'The built image does not hold the MachineConfig of its pool',
    hint: 'let the Containerfile leave /etc/machine-config-daemon/currentconfig alone',
  },
  'layering.image-lint': {
    kind: 'input',
    title: 'The built image has faults that bootc would not boot with',
    hint: 'mend what bootc names in the Containerfile; "RUN bootc container lint" as its last line shows the same',
  },
  'layering.image-unreadable': {
    kind: 'host',
    title: 'The built image cannot be looked at',
    hint: 'read the message; the storage of the host may be full or damaged',
  },
  'layering.not-built': {
    kind: 'input',
    title: 'There is no image of these files to push',
    hint: 'build it: bootwright layer build with the same --os-config, --rendered-config and --storage',
  },
  'layering.store-taken': {
    kind: 'host',
    title: 'The folder for what lives as long as a build belongs to somebody else',
    hint: 'remove it, or give another folder with --storage',
  },
  'layering.push-failed': {
    kind: 'remote',
    title: 'An image could not be pushed',
    hint: 'read the last lines in the message',
  },
} as const satisfies FailureTable;

/** Builds an error of this area. */
export const layeringFailure = failuresOf(layeringFailures);
