import { failuresOf, type FailureTable } from '../model/failure.ts';

/** Failures of the commands; a command detects each of them before it changes anything. */
export const cliFailures = {
  'cli.already-running': {
    kind: 'host',
    title: 'Another agent is running on this host',
    hint: 'wait until it ends, or stop its container; then run the same "podman run" line again',
  },
  'cli.bundle-not-read': {
    kind: 'input',
    title: 'A file is not a readable bundle of logs',
    hint: 'give the file that the line "logs: FILE" of a failed install names, or its line "next: … logs read FILE" in the lab, unchanged, or a folder above such files; of a controller_logs.tar.gz with a large must-gather, give the log alone: tar -xzf FILE assisted-installer-controller.logs',
  },
  'cli.bundle-not-written': {
    kind: 'host',
    title: 'A bundle of logs cannot be written',
    hint: 'free space, or give another file with --output; - is standard output',
  },
  'cli.command-after-flags': {
    kind: 'input',
    title: 'A command is written after flags, where an install would ignore it',
    hint: 'write the command first: bootwright COMMAND FLAGS',
  },
  'cli.journal-not-found': {
    kind: 'input',
    title: 'No journal of an earlier run was found',
    hint: 'check host.root; the journal is /opt/install-dir/journal.jsonl below it',
  },
  'cli.no-node-name': {
    kind: 'input',
    title: 'The agent does not know its node',
    hint: 'set NODE_NAME to the name of the node; in a pod from spec.nodeName',
  },
  'cli.not-in-cluster': {
    kind: 'input',
    title: 'The command does not run in a pod of a cluster',
    hint: 'give --kubeconfig FILE',
  },
  'cli.not-installed': {
    kind: 'cluster',
    title: 'A watched installation failed',
    hint: 'read the reason in the message, and what "bootwright status" says on the host',
  },
  'cli.not-installed-in-time': {
    kind: 'limit',
    title: 'A watched installation did not end in time',
    hint: 'the message names the missing condition; run the same line again with a longer --timeout',
  },
  'cli.old-node': {
    kind: 'unsupported',
    title: 'Node is older than 24',
    hint: 'run it with Node 24 or newer',
  },
  'cli.output-not-written': {
    kind: 'host',
    title: 'Standard output cannot be written to',
    hint: 'free space where the output is written, or write it elsewhere; then run the same "bootwright" line again',
  },
  'cli.page-not-written': {
    kind: 'host',
    title: 'The page cannot be written to its file',
    hint: 'give another file with --page-file, in a writable directory',
  },
  'cli.status-not-found': {
    kind: 'input',
    title: 'No status of a run on this host was found',
    hint: 'check host.root; the status is /opt/install-dir/status.json below it',
  },
  'cli.unknown-command': {
    kind: 'input',
    title: 'A command or subcommand does not exist',
    hint: 'see "bootwright --help" for every command',
  },
} as const satisfies FailureTable;

/** Builds an error of the command line. */
export const cliFailure = failuresOf(cliFailures);
