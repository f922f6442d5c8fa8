import { type AgentError, failuresOf, type FailureTable } from '../../model/failure.ts';

/** Failures of choosing, fetching and writing the operating system, and of the hooks around it. */
export const imageFailures = {
  'image.not-configured': {
    kind: 'input',
    title: 'The selected image source is not configured',
    hint: 'set the key in the message, or set image.source to auto',
  },
  'image.digest-unusable': {
    kind: 'input',
    title: 'A digest is set for an image that cannot be verified',
    hint: 'set image.sha256 together with image.file or image.url, or remove it',
  },
  'image.unverified': {
    kind: 'input',
    title: 'Nothing verifies the image',
    hint: 'set image.sha256, or use an https URL; image.allowUnverified installs the image without a check',
  },
  'network.bad-keyfile': {
    kind: 'input',
    title: 'NetworkManager of the installed host would not read its keyfiles',
    hint: 'correct the files in network.keyfiles: names in .nmconnection, mode 0600, and sections as in nm-settings-keyfile(5); `nmcli --offline connection modify connection.autoconnect yes < FILE` prints what NetworkManager takes of one',
  },
  'network.no-nmstatectl': {
    kind: 'host',
    isFinal: true,
    title: 'The live image has no nmstatectl',
    hint: 'boot the host from a live image with nmstate, or write keyfiles and set network.keyfiles in place of network.nmstate',
  },
  'network.bad-nmstate': {
    kind: 'input',
    title: 'No usable keyfiles can be made of the nmstate file',
    hint: 'correct the file in network.nmstate; `nmstatectl gc FILE` prints the keyfiles',
  },
  'image.file-missing': {
    kind: 'input',
    title: 'The image file or the stream metadata was not found on the host',
    hint: 'check the path: it is a path on the host, not in the container',
  },
  'image.stream-changed': {
    kind: 'media',
    title: 'The stream metadata no longer names the chosen image',
    hint: 'start the installation again, so that the image is chosen and checked again',
  },
  'image.no-live-image': {
    kind: 'input',
    title: 'The live medium has no image',
    hint: 'boot the host from the full live medium, or set image.url, image.file or image.stream',
  },
  'image.not-an-image': {
    kind: 'input',
    title: 'The configured image is not a disk image',
    hint: 'use a raw metal image, compressed or not: no ISO, qcow2 or web page',
  },
  'image.stream-unreadable': {
    kind: 'input',
    title: 'The stream metadata cannot be read',
    hint: 'the file must be JSON in the CoreOS stream format',
  },
  'image.not-in-stream': {
    kind: 'input',
    title: 'The stream has no image for this host',
    hint: 'check the architectures and formats in the stream; use the stream of the right release',
  },
  'image.not-the-release': {
    kind: 'input',
    title: 'The image does not match the OpenShift release',
    hint: 'use the image of the release that the cluster installs',
  },
  'image.wrong-architecture': {
    kind: 'input',
    title: 'The image is for another architecture than the host',
    hint: 'use the image for the architecture of the host',
  },
  'image.wrong-sector-size': {
    kind: 'input',
    title: 'The image does not match the sector size of the disk',
    hint: 'use the 4k image for a disk with 4096-byte sectors, the regular one for 512-byte sectors',
  },
  'image.too-large': {
    kind: 'input',
    title: 'The image does not fit on the disk',
    hint: 'choose a larger disk',
  },
  'image.collides': {
    kind: 'input',
    title: 'The image would overwrite a partition that is kept',
    hint: 'move the partition further back on the disk, or do not keep it',
  },
  'image.bad-signature': {
    kind: 'media',
    title: 'The signature of the image is not valid',
    hint: 'download the image again from its publisher; an old coreos-installer does not know new keys',
  },
  'image.corrupt': {
    kind: 'media',
    title: 'The image cannot be decompressed',
    hint: 'download the image again; if it fails again, the stored file is damaged',
  },
  'image.unreachable': {
    kind: 'remote',
    title: 'The image cannot be fetched by coreos-installer',
    hint: 'check the URL, name resolution, routes and proxies of the host',
  },
  'image.relay-unreachable': {
    kind: 'host',
    title: 'The image relay of this program cannot be reached by coreos-installer',
    hint: 'allow connections to 127.0.0.1 on the host: nft list ruleset; env | grep -i proxy',
  },
  'image.no-udev': {
    kind: 'host',
    title: 'No udev was found by coreos-installer',
    hint: 'check systemd-udevd on the host: systemctl status systemd-udevd',
  },
  'image.no-boot-partition': {
    kind: 'media',
    title: 'The disk has no boot partition after the write',
    hint: 'check that the image is a CoreOS metal image; other disks with old systems may interfere',
  },
  'image.disk-error': {
    kind: 'host',
    title: 'The disk or the image medium has read or write errors',
    hint: 'replace the disk or medium in the message; the kernel errors are in kernel.log of the bundle, or journalctl -k on the host',
  },
  'image.writer-arguments': {
    kind: 'input',
    title: 'The arguments of coreos-installer were not accepted',
    hint: 'check --installer-args or image.writerArgs',
  },
  'image.writer-failed': {
    kind: 'host',
    title: 'Running coreos-installer failed',
    hint: 'read its last lines in the message and in the log',
  },
  'image.registry-unreachable': {
    kind: 'remote',
    title: 'The registry of the operating system image cannot be reached',
    hint: 'check the registry, and name resolution, routes and proxies of the host',
  },
  'image.not-authorized': {
    kind: 'input',
    title: 'The registry does not let this host pull the image',
    hint: 'check the pull secret of the cluster',
  },
  'image.not-found': {
    kind: 'input',
    title: 'The registry does not have the image',
    hint: 'check repository, tag and digest in osImageURL of the MachineConfig',
  },
  'image.pull-cut': {
    kind: 'remote',
    title: 'The connection to the registry was lost while the operating system image was pulled',
    hint: 'check the log of the registry and the network in between',
  },
  'image.no-room': {
    kind: 'input',
    title: 'The disk has too little space for the operating system of the cluster',
    hint: 'choose a larger disk, or reduce the size of the image',
  },
  'image.deploy-failed': {
    kind: 'host',
    title: 'The operating system of the cluster could not be deployed',
    hint: 'read the error of ostree in the message',
  },
  'image.bad-kernel-arguments': {
    kind: 'input',
    title: 'The kernel arguments of the operating system image cannot be read',
    hint: 'correct the file in the Containerfile, and end it with `RUN bootc container lint`, which reads it',
  },
  'image.wrong-origin': {
    kind: 'bug',
    title: 'The installed system would update from the wrong image name',
    hint: 'do not boot the host from this disk; report it with the log, and install again',
  },
  'image.stalled': {
    kind: 'limit',
    title: 'Writing the image made no progress',
    hint: 'check the disk and the network of the host, then run the same "podman run" line again',
  },
  'hook.not-executable': {
    kind: 'input',
    title: 'A hook is not an executable file on the host',
    hint: 'check hooks.before and hooks.after: paths on the host, not in the container, with mode 0755, and for a script a program of the live system behind #!',
  },
  'hook.failed': {
    kind: 'host',
    title: 'A hook of the installation failed',
    hint: 'read what the hook printed in the log, correct it, then run the same "podman run" line again',
  },
  'hook.timed-out': {
    kind: 'limit',
    title: 'A hook of the installation timed out',
    hint: 'check what the hook waits for, or raise hooks.minutes',
  },
} as const satisfies FailureTable;

/** Builds an error about the operating system image. */
export const imageFailure = failuresOf(imageFailures);

/** `image.file-missing` for a path on the host. */
export const imageFileMissing = (path: string): AgentError =>
  imageFailure('image.file-missing', `${path} is not on the host`, { context: { path } });
