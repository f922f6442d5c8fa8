import { failuresOf, type FailureTable } from '../model/failure.ts';

/** Failures of moving a running node to another operating system image. */
export const osFailures = {
  'os.not-managed': {
    kind: 'unsupported',
    title: 'The operating system of this host does not come from an image',
    hint: 'run this on a host that runs bootc, or an ostree system such as CoreOS',
  },
  'os.no-driver': {
    kind: 'unsupported',
    title: 'The host has no program that can change its operating system image',
    hint: 'the host needs bootc, rpm-ostree, or ostree with its container extension',
  },
  'os.status-not-read': {
    kind: 'host',
    title: 'What the host says of its operating system is not understood',
    hint: 'compare the version of bootc, rpm-ostree or ostree with what is supported',
  },
  'os.busy': {
    kind: 'host',
    title: 'Another is changing the operating system of the host',
    hint: 'wait until it has ended, then run again',
  },
  'os.bad-image-name': {
    kind: 'input',
    title: 'The name of an image cannot be used',
    hint: 'write HOST/PATH:TAG or HOST/PATH@sha256:DIGEST',
  },
  'os.image-unreachable': {
    kind: 'remote',
    title: 'The image cannot be read from its registry',
    hint: 'look at the name, the registry, and the pull secret in /etc/ostree/auth.json',
  },
  'os.pull-cut': {
    kind: 'remote',
    title: 'The registry broke off while the image was pulled',
    hint: 'look at the log of the registry and at the network between, then run again',
  },
  'os.wrong-architecture': {
    kind: 'input',
    title: 'The image is made for another architecture',
    hint: 'build the image for the architecture of the host',
  },
  'os.no-space': {
    kind: 'host',
    title: 'The image does not fit on the host',
    hint: 'free some space on /sysroot, then run again',
  },
  'os.staged-by-another': {
    kind: 'host',
    title: 'Something else is to be booted next',
    hint: 'reboot into it, or drop it with "bootwright node rollback"; then run again',
  },
  'os.not-staged': {
    kind: 'host',
    title: 'The host is not going to boot what was asked for',
    hint: 'compare "bootwright node status" with the log; nothing changes before a reboot',
  },
  'os.nothing-to-roll-back': {
    kind: 'host',
    title: 'The host keeps no operating system to go back to',
    hint: 'apply the image by its name: bootwright node apply IMAGE',
  },
  'os.kernel-arguments-unsupported': {
    kind: 'unsupported',
    title: 'Kernel arguments of this host cannot be changed',
    hint: 'leave the kernel arguments out, or set them in the MachineConfig',
  },
  'os.drop-unsupported': {
    kind: 'unsupported',
    title: 'What is staged on this host cannot be dropped',
    hint: 'reboot into it, then roll back',
  },
  'os.not-operators': {
    kind: 'host',
    title: 'The Machine Config Operator does not look after this host, or not yet',
    hint: 'leave --record out, or wait until the Machine Config Daemon has taken the node over',
  },
  'os.runs-another': {
    kind: 'host',
    title: 'The host does not run the image that it is expected to run',
    hint: 'look at what it boots next; bootwright node apply IMAGE --reboot brings it there',
  },
  'os.record-lost': {
    kind: 'host',
    title: 'What is recorded now would be gone with the next boot',
    hint: 'reboot into what is booted next, then run again',
  },
  'os.signature-unsupported': {
    kind: 'unsupported',
    title: 'The host checks the signature of its image in a way that cannot be kept',
    hint: 'move the host with its own program, which can be told how to check',
  },
} as const satisfies FailureTable;

/** Builds an error about the operating system of a node. */
export const osFailure = failuresOf(osFailures);
