import { failuresOf, type FailureTable } from '../model/failure.ts';

/** Failures of the command line; each is found before anything is touched. */
export const cliFailures = {
  'cli.already-running': {
    kind: 'host',
    title: 'Another agent is at work on this host',
    hint: 'wait until it has ended, or stop its container; then run this one again',
  },
  'cli.journal-not-found': {
    kind: 'input',
    title: 'There is no journal of an earlier run',
    hint: 'look at host.root; the journal is /opt/install-dir/journal.jsonl below it',
  },
  'cli.not-in-cluster': {
    kind: 'input',
    title: 'The command runs in no pod of a cluster',
    hint: 'give --kubeconfig FILE',
  },
  'cli.old-node': {
    kind: 'unsupported',
    title: 'Node is older than 24',
    hint: 'run it with Node 24 or newer',
  },
  'cli.unknown-command': {
    kind: 'input',
    title: 'There is no such command',
    hint: 'see "bootwright --help" for every command',
  },
} as const satisfies FailureTable;

/** Builds an error of the command line. */
export const cliFailure = failuresOf(cliFailures);
