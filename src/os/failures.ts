import { failuresOf, type FailureTable } from '../model/failure.ts';

/** Failures of moving a running node to another operating system image. */
export const osFailures = {
  'os.not-managed': {
    kind: 'unsupported',
    title: 'The operating system of this host does not come from an image',
    hint: 'run this on a host with bootc, or on an ostree system such as CoreOS',
  },
  'os.no-driver': {
    kind: 'unsupported',
    title: 'The host has no program that can change its operating system image',
    hint: 'the host needs bootc or rpm-ostree',
  },
  'os.status-not-read': {
    kind: 'host',
    title: 'The status of the operating system could not be read',
    hint: 'check that this version of bootc or rpm-ostree is supported',
  },
  'os.busy': {
    kind: 'host',
    title: 'Another process is changing the operating system of the host',
    hint: 'wait until it has finished, then run the same "bootwright node" line again',
  },
  'os.read-only': {
    kind: 'unsupported',
    title: 'The operating system of this host is read-only',
    hint: 'boot the host from its disk, where bootc can write',
  },
  'os.update-driver': {
    kind: 'host',
    title: 'A service of the host drives its updates, and rpm-ostree refuses others',
    hint: 'stop it on the host, "systemctl disable --now zincati.service" for Zincati; then run the same "bootwright node" line again',
  },
  'os.bad-image-name': {
    kind: 'input',
    title: 'The image name is not valid',
    hint: 'write HOST/PATH:TAG or HOST/PATH@sha256:DIGEST',
  },
  'os.image-unreachable': {
    kind: 'remote',
    title: 'The image cannot be read from its registry',
    hint: 'check the name, the registry, and the pull secret in /etc/ostree/auth.json',
  },
  'os.image-not-found': {
    kind: 'input',
    title: 'The registry does not have the image',
    hint: 'check repository, tag and digest',
  },
  'os.pull-denied': {
    kind: 'input',
    title: 'The registry does not let this host pull the image',
    hint: 'add a pull secret for it to /etc/ostree/auth.json, or to the pull secret of the cluster',
  },
  'os.pull-cut': {
    kind: 'remote',
    title: 'The pull of the image was cut off, or stalled',
    hint: 'check the log of the registry and the network in between, then run the same "bootwright node" line again',
  },
  'os.wrong-architecture': {
    kind: 'input',
    title: 'The image is made for another architecture',
    hint: 'build the image for the architecture of the host',
  },
  'os.no-space': {
    kind: 'host',
    title: 'The image does not fit on the host',
    hint: 'free space where the message says, then run the same "bootwright node" line again',
  },
  'os.staged-by-another': {
    kind: 'host',
    title: 'Another deployment boots next',
    hint: 'reboot into it, or discard it with "bootwright node rollback"; then run the same "bootwright node" line again',
  },
  'os.not-staged': {
    kind: 'host',
    title: 'The host will not boot the requested image',
    hint: 'compare what "bootc status" or "rpm-ostree status" prints with the log; nothing changes before a reboot',
  },
  'os.nothing-to-roll-back': {
    kind: 'host',
    title: 'The host has no deployment to roll back to',
    hint: 'apply the image by its name: bootwright node apply IMAGE',
  },
  'os.kernel-arguments-unsupported': {
    kind: 'unsupported',
    title: 'Kernel arguments of this host cannot be changed',
    hint: 'leave the kernel arguments out, or use an image with rpm-ostree, or with bootc 1.15.2 and ostree 2026.1',
  },
  'os.drop-unsupported': {
    kind: 'unsupported',
    title: 'The staged deployment cannot be discarded',
    hint: 'reboot into it, then roll back',
  },
  'os.not-operators': {
    kind: 'host',
    title: 'The Machine Config Operator does not manage this host, or not yet',
    hint: 'omit --record, or wait until the Machine Config Daemon manages the node',
  },
  'os.record-lost': {
    kind: 'host',
    title: 'A record written now would be lost at the next boot',
    hint: 'reboot into the next deployment, then run the same "bootwright node" line again',
  },
  'os.signature-unsupported': {
    kind: 'unsupported',
    title: 'The signature check of the running image cannot be kept',
    hint: 'switch the image with bootc or rpm-ostree, where the check can be configured',
  },
} as const satisfies FailureTable;

/** Builds an error about the operating system of a node. */
export const osFailure = failuresOf(osFailures);
