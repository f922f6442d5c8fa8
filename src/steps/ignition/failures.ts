import { failuresOf, type FailureTable } from '../../model/failure.ts';

/** Failures of getting hold of an Ignition config; what is wrong inside one is `src/ignition`'s. */
export const ignitionSourceFailures = {
  'ignition.not-configured': {
    kind: 'input',
    title: 'No source of Ignition is configured',
    hint: 'set service.url, s3.endpoint with s3.bucket, ignition.url or ignition.file',
  },
  'ignition.file-not-found': {
    kind: 'input',
    title: 'The Ignition file is not on the host',
    hint: 'check ignition.file, or ignition.caFile; the path is one of the host',
  },
  'ignition.cut': {
    kind: 'media',
    title: 'The Ignition config was not received whole',
    hint: 'run again; if it stops again, look at the network and the server',
  },
  'ignition.wrong-digest': {
    kind: 'media',
    title: 'The Ignition config is not the one that was meant',
    hint: 'compare ignition.sha256 with the file as it is served',
  },
  'ignition.oversized': {
    kind: 'input',
    title: 'What is served as Ignition config is too large to be one',
    hint: 'check the source; an image or an archive may have been named by mistake',
  },
  'ignition.not-rendered': {
    kind: 'cluster',
    title: 'The bootstrap did not leave the Ignition of the only node',
    hint: 'look at "journalctl -u bootkube.service" on the host',
    isFinal: true,
  },
} as const satisfies FailureTable;

/** Builds an error of getting hold of an Ignition config. */
export const ignitionSourceFailure = failuresOf(ignitionSourceFailures);
