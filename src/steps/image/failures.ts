import { failuresOf, type FailureTable } from '../../model/failure.ts';

/** Failures of choosing, fetching and writing the operating system. */
export const imageFailures = {
  'image.not-configured': {
    kind: 'input',
    title: 'The image source that is asked for is not set',
    hint: 'set the key that the message names, or image.source to auto',
  },
  'image.digest-unusable': {
    kind: 'input',
    title: 'A digest is given for an image that cannot be held against it',
    hint: 'give image.sha256 together with image.file or image.url, or take it away',
  },
  'image.file-missing': {
    kind: 'input',
    title: 'The image file, or the stream metadata, is not on the host',
    hint: 'check the path; it is one of the host, not of the container',
  },
  'image.stream-changed': {
    kind: 'media',
    title: 'The stream metadata names another image than the one that was chosen',
    hint: 'start the installation anew, so that the image is chosen and checked again',
  },
  'image.no-live-image': {
    kind: 'input',
    title: 'The live medium carries no image',
    hint: 'start the host from the full live medium, or set image.url, image.file or image.stream',
  },
  'image.not-an-image': {
    kind: 'input',
    title: 'What is named as image is none',
    hint: 'name a raw metal image, compressed or not: not an ISO, a qcow2 or a web page',
  },
  'image.stream-unreadable': {
    kind: 'input',
    title: 'The stream metadata cannot be read',
    hint: 'it must be JSON in the format of CoreOS streams',
  },
  'image.not-in-stream': {
    kind: 'input',
    title: 'The stream has no image for this host',
    hint: 'look at the architectures and formats of the stream; take the one of the right release',
  },
  'image.not-the-release': {
    kind: 'input',
    title: 'The image does not fit the OpenShift release',
    hint: 'take the image of the release that the cluster installs',
  },
  'image.wrong-architecture': {
    kind: 'input',
    title: 'The image is for another architecture than that of the host',
    hint: 'take the image for the architecture of the host',
  },
  'image.wrong-sector-size': {
    kind: 'input',
    title: 'The image is made for another sector size than that of the disk',
    hint: 'take the 4k image for a disk with sectors of 4096 bytes, the plain one for 512',
  },
  'image.too-large': {
    kind: 'input',
    title: 'The image does not fit on the disk',
    hint: 'name a larger disk',
  },
  'image.collides': {
    kind: 'input',
    title: 'The image reaches into a partition that is to be kept',
    hint: 'move the partition further back on the disk, or do not keep it',
  },
  'image.bad-signature': {
    kind: 'media',
    title: 'The signature of the image is not good',
    hint: 'take the image again from its publisher; an old writer does not know new keys',
  },
  'image.corrupt': {
    kind: 'media',
    title: 'The image cannot be unpacked',
    hint: 'take the image again; if it fails again, the stored file is damaged',
  },
  'image.unreachable': {
    kind: 'remote',
    title: 'The writer cannot fetch the image',
    hint: 'check the URL, name resolution, routes and proxies of the host',
  },
  'image.relay-unreachable': {
    kind: 'host',
    title: 'The writer cannot reach the image that this program hands on',
    hint: 'run the container in the network of the host: podman run --net=host',
  },
  'image.no-udev': {
    kind: 'host',
    title: 'The writer finds no udev',
    hint: 'look at systemd-udevd on the host',
  },
  'image.no-boot-partition': {
    kind: 'media',
    title: 'The boot partition is not on the disk after the write',
    hint: 'check that the image is a CoreOS metal image; other disks with old systems may disturb',
  },
  'image.disk-error': {
    kind: 'host',
    title: 'The disk, or the medium of the image, gives errors',
    hint: 'look at the kernel log of the host; replace the disk',
  },
  'image.writer-arguments': {
    kind: 'input',
    title: 'The writer does not accept its arguments',
    hint: 'look at --installer-args, or image.writerArgs',
  },
  'image.writer-failed': {
    kind: 'host',
    title: 'The writer failed',
    hint: 'read its last lines in the message and in the log',
  },
  'image.registry-unreachable': {
    kind: 'remote',
    title: 'The registry of the operating system cannot be reached',
    hint: 'check the registry, and name resolution, routes and proxies of the host',
  },
  'image.pull-cut': {
    kind: 'remote',
    title: 'The registry broke off while the operating system was pulled',
    hint: 'look at the log of the registry and at the network between',
  },
  'image.no-room': {
    kind: 'input',
    title: 'The disk has no room for the operating system of the cluster',
    hint: 'name a larger disk, or make the image smaller',
  },
  'image.deploy-failed': {
    kind: 'host',
    title: 'The operating system of the cluster cannot be written',
    hint: 'read what ostree says in the message',
  },
  'image.wrong-origin': {
    kind: 'bug',
    title: 'The disk would follow an image under another name than the one that lasts',
    hint: 'do not start the host from this disk; report it with the log, and install again',
  },
  'image.stalled': {
    kind: 'limit',
    title: 'The write of the image stands still',
    hint: 'look at the disk and at the network of the host, then run again',
  },
} as const satisfies FailureTable;

/** Builds an error about the operating system image. */
export const imageFailure = failuresOf(imageFailures);
