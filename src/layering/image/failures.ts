import { failuresOf, type FailureTable } from '../../model/failure.ts';

/** Everything that can go wrong while an image is built, kept and copied. */
export const layeringImageFailures = {
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
export const imageFailure = failuresOf(layeringImageFailures);
