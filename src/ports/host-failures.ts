import { failuresOf, type FailureTable } from '../model/failure.ts';

/** Failures of commands and files on the host; every adapter of the host port throws these. */
export const hostFailures = {
  'host.not-seen': {
    kind: 'input',
    title: 'The container does not see the host',
    hint: 'add --privileged and --pid=host to "podman run", as root',
  },
  'command.failed': {
    kind: 'host',
    title: 'A command on the host failed',
    hint: 'read the last lines of its output in the message, fix the host, then run the same "podman run" or "bootwright" line again',
  },
  'command.not-found': {
    kind: 'host',
    title: 'A command is missing on the host',
    hint: 'boot the host from an image that has it',
  },
  'command.unreadable': {
    kind: 'host',
    title: 'A command on the host printed something that cannot be read',
    hint: 'run the command that the message names on the host, and look at what it prints',
  },
  'command.timed-out': {
    kind: 'limit',
    title: 'A command on the host timed out',
    hint: 'check on the host what the command waits for, then run the same "podman run" or "bootwright" line again',
  },
  'command.stopped': {
    kind: 'host',
    title: 'A command was stopped because the run ended',
    hint: 'run the same "podman run" line again; it resumes where it stopped',
  },
  'file.not-written': {
    kind: 'host',
    title: 'A file on the host could not be written',
    hint: 'check free space and mounts on the host',
  },
  'file.too-large': {
    kind: 'host',
    isFinal: true,
    title: 'A file exceeds its size limit',
    hint: 'check that the path is right, and what writes to that file',
  },
  'file.not-read': {
    kind: 'host',
    title: 'A file on the host could not be read',
    hint: 'check the file and its permissions on the host',
  },
} as const satisfies FailureTable;

/** Builds an error of a command or a file on the host. */
export const hostFailure = failuresOf(hostFailures);
