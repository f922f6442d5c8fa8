import { failuresOf, type FailureTable } from '../model/failure.ts';

/** Failures of an image: of its inputs, and while it is built, stored and copied. */
export const layeringFailures = {
  'layering.malformed-file': {
    kind: 'input',
    title: 'A file is neither YAML nor JSON',
    hint: 'fix the file at that line',
  },
  'layering.wrong-object': {
    kind: 'input',
    title: 'A file does not hold the expected object',
    hint: 'give a file with the object as you would apply it, or as oc get -o yaml prints it',
  },
  'layering.os-config-invalid': {
    kind: 'input',
    title: 'A MachineOSConfig is not valid',
    hint: 'run "bootwright lint FILE" and fix what it names',
  },
  'layering.os-config-twice': {
    kind: 'input',
    title: 'Two MachineOSConfigs are for the same pool',
    hint: 'keep one MachineOSConfig for each MachineConfigPool among the manifests',
  },
  'layering.integrated-registry': {
    kind: 'input',
    title: 'An image would be pushed to the internal registry of a cluster that does not exist yet',
    hint: 'set spec.renderedImagePushSpec to a registry that nodes can reach at their first boot',
  },
  'layering.machine-config-invalid': {
    kind: 'input',
    title: 'A rendered MachineConfig cannot be built into an image',
    hint: 'give the rendered MachineConfig of the pool: oc get machineconfig rendered-POOL-HASH -o yaml',
  },
  'layering.extension-unknown': {
    kind: 'unsupported',
    title: 'A MachineConfig asks for an unknown extension',
    hint: 'fix spec.extensions of the MachineConfig',
  },
  'layering.kernel-unknown': {
    kind: 'unsupported',
    title: 'A MachineConfig asks for an unknown kernel',
    hint: 'set spec.kernelType to default, realtime or 64k-pages',
  },
  'layering.no-extensions-image': {
    kind: 'input',
    title: 'A MachineConfig asks for packages and names no extensions image',
    hint: 'give a rendered MachineConfig with spec.baseOSExtensionsContainerImage',
  },
  'layering.pools-differ': {
    kind: 'input',
    title: 'The objects are of different pools',
    hint: 'give the MachineOSConfig, the MachineConfigPool and the MachineConfig of one pool',
  },
  'layering.no-name': {
    kind: 'unsupported',
    title: 'The Machine Config Operator could not name the build',
    hint: 'remove the character from the Containerfile, or write it as an escape of the shell',
  },
  'layering.pool-missing': {
    kind: 'input',
    title: 'The cluster has no such MachineConfigPool',
    hint: 'list the pools of the cluster: oc get machineconfigpools',
  },
  'layering.served-config-invalid': {
    kind: 'cluster',
    title: 'The machine-config-server serves a config that no node can boot with',
    hint: 'check what it serves: /config/POOL on port 22623 of api-int, with the Accept header of Ignition 3',
  },
  'layering.bad-credentials': {
    kind: 'input',
    title: 'The credentials of a registry cannot be read',
    hint: 'give a Secret of type kubernetes.io/dockerconfigjson, or a file in the format of a pull secret',
  },
  'layering.no-registry-image': {
    kind: 'input',
    title: 'No image for the registry is known',
    hint: 'set layering.registryImage',
  },
  'layering.registry-not-started': {
    kind: 'host',
    title: 'The registry on the bootstrap host does not answer',
    hint: 'read "podman logs bootwright-registry" on the host, and check whether another program uses its port',
  },
  'layering.registry-unreachable': {
    kind: 'remote',
    title: 'A registry cannot be reached',
    hint: 'check name resolution, routes and proxy of the host, then run the same "podman run" or "bootwright layer build" line again',
  },
  'layering.registry-denied': {
    kind: 'input',
    title: 'A registry rejects the credentials',
    hint: 'check that the Secret may pull from, or push to, this repository',
  },
  'layering.not-pullable': {
    kind: 'input',
    title: 'Nodes may not pull the built image',
    hint: 'allow the pull secret of the cluster to pull from that repository: nodes have no other credentials',
  },
  'layering.copy-failed': {
    kind: 'remote',
    title: 'An image could not be copied',
    hint: 'read the last lines of skopeo in the message, fix their cause, and run the same "podman run" or "bootwright layer build" line again',
  },
  'layering.digest-changed': {
    kind: 'remote',
    isFinal: true,
    title: 'A registry changed the digest of an image',
    hint: 'turn off conversion and recompression of images in that registry: nodes pull by digest',
  },
  'layering.disk-too-small': {
    kind: 'input',
    title: 'The install disk is too small to build images on',
    hint: 'choose a larger disk: 32 GB more than the operating system needs is enough',
  },
  'layering.base-architecture': {
    kind: 'input',
    title: 'The base image is for another architecture than the host',
    hint: 'build on a host of the same architecture, or use the release for this one',
  },
  'layering.no-builder': {
    kind: 'host',
    isFinal: true,
    title: 'The host has neither buildah nor podman',
    hint: 'boot the host from an image that has one of them, or install one',
  },
  'layering.build-failed': {
    kind: 'input',
    title: 'The build of the image failed',
    hint: 'read its last lines: correct the Containerfile in the MachineOSConfig of that pool, or what it needs, such as package repositories that the base does not have; the whole log is POOL-build.log in the bundle; then install again',
  },
  'layering.build-cut-off': {
    kind: 'remote',
    title: 'The build lost its network twice',
    hint: 'check that the host reaches the registries and repositories that the Containerfile uses',
  },
  'layering.build-too-long': {
    kind: 'limit',
    title: 'The build timed out',
    hint: 'read in the log what the build was doing; layering.buildMinutes sets a longer timeout',
  },
  'layering.image-label-missing': {
    kind: 'input',
    title: 'The built image lacks a label, or has another value for it',
    hint: 'begin the last stage of the Containerfile with "FROM configs", and do not set these labels in it',
  },
  'layering.image-not-bootable': {
    kind: 'input',
    title: 'The built image has no label of a bootable image',
    hint: 'use a CoreOS image as base: it has the label ostree.bootable or containers.bootc',
  },
  'layering.image-kernels': {
    kind: 'input',
    title: 'The built image must have exactly one kernel',
    hint: 'remove the old kernel in the RUN of the Containerfile that installs the new one',
  },
  'layering.image-initramfs': {
    kind: 'input',
    title: 'The kernel of the built image has no initramfs',
    hint: 'generate it in the RUN that installs the kernel: rpm-ostree does it, with dnf run dracut',
  },
  'layering.image-stream': {
    kind: 'input',
    title: 'The OS image of a pool is not of the stream that the pool asks for',
    hint: 'check spec.osImageStream of the pool and the feature gate OSStreams: without the gate the stream is ignored',
  },
  'layering.pool-without-os-config': {
    kind: 'input',
    title: 'OS images are to be built, and a pool has no MachineOSConfig',
    hint: 'add a MachineOSConfig for each pool, or set layering.pushTo; layering.mode auto builds for the pools that have one',
  },
  'layering.image-architecture': {
    kind: 'input',
    title: 'The built image is for another architecture than its base',
    hint: 'begin the last stage of the Containerfile with "FROM configs"',
  },
  'layering.image-wrong-config': {
    kind: 'input',
    title: 'The built image does not hold the MachineConfig of its pool',
    hint: 'do not change /etc/machine-config-daemon/currentconfig in the Containerfile',
  },
  'layering.image-lint': {
    kind: 'input',
    title: 'The built image has errors that bootc container lint finds',
    hint: 'fix in the Containerfile what bootc names; "RUN bootc container lint" as its last line reports the same',
  },
  'layering.image-unreadable': {
    kind: 'host',
    title: 'The built image cannot be read',
    hint: 'read the message: the storage of the host may be full or damaged',
  },
  'layering.store-taken': {
    kind: 'host',
    isFinal: true,
    title: 'The run folder of the image store belongs to another user',
    hint: 'remove it, or give another folder with --storage',
  },
  'layering.push-failed': {
    kind: 'remote',
    title: 'An image could not be pushed',
    hint: 'read the last lines of the command in the message, fix their cause, and run the same "podman run" or "bootwright layer build" line again',
  },
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
    title: 'The setting layering.pushTo is not a valid registry or namespace',
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
    hint: 'build the image before (bootwright layer build --push-authfile FILE) and name it in the annotation machineconfiguration.openshift.io/pre-built-image, or apply the MachineOSConfig once the node runs',
  },
  'layering.not-stashed': {
    kind: 'host',
    isFinal: true,
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
    isFinal: true,
    title: 'A file that an earlier step wrote to the host is missing',
    hint: 'run the same "podman run" line again with --fresh; nothing else may change these files during the installation',
  },
  'layering.manifest-unusable': {
    kind: 'host',
    isFinal: true,
    title: 'A manifest that layering needs is missing or holds something else',
    hint: 'check the file that the message names, and what else changes it',
  },
  'layering.images-unknown': {
    kind: 'cluster',
    title: 'The cluster does not name the OS images of its release',
    hint: 'check ConfigMap machine-config-osimageurl in namespace openshift-machine-config-operator',
  },
  'layering.build-in-the-way': {
    kind: 'cluster',
    isFinal: true,
    title: 'Another MachineOSBuild already has the name that the hand-over needs',
    hint: 'find out who created it; if it is not needed, run "oc delete machineosbuild NAME", then the same "podman run" line again',
  },
  'layering.os-config-differs': {
    kind: 'cluster',
    title: "The MachineOSConfig in the cluster differs from the installation's",
    hint: 'compare the two; if the one in the cluster is not needed, delete it, then run the same "podman run" line again',
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

/** Builds an error of this area. */
export const layeringFailure = failuresOf(layeringFailures);
