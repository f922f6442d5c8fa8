import { type AgentError, failuresOf, type FailureTable } from '../../model/failure.ts';

/**
 * Failures of fetching an Ignition config, and of the registry settings that it gets;
 * `src/ignition` has the failures of its content.
 */
export const ignitionSourceFailures = {
  'ignition.not-configured': {
    kind: 'input',
    title: 'No source of Ignition is configured',
    hint: 'set service.url, s3.endpoint with s3.bucket, ignition.url or ignition.file',
  },
  'ignition.file-not-found': {
    kind: 'input',
    title: 'The Ignition file is not on the host',
    hint: 'check ignition.file and ignition.caFile; both are paths on the host',
  },
  'ignition.cut': {
    kind: 'media',
    title: 'The download of the Ignition config was cut short',
    hint: 'run the same "podman run" line again; if it fails again, check the network and the server',
  },
  'ignition.wrong-digest': {
    kind: 'media',
    title: 'The Ignition config does not match the digest that is set',
    hint: 'compare ignition.sha256, or --ignition-hash of image.writerArgs, with the digest of the file',
  },
  'ignition.oversized': {
    kind: 'input',
    title: 'The Ignition config is too large',
    hint: 'check that the source is an Ignition config, not an image or an archive',
  },
  'ignition.wrong-time': {
    kind: 'host',
    title: 'A certificate of the cluster is not valid by the clock of this host',
    hint: 'correct the clock (timedatectl, chronyc tracking); if the clock is right, create the Ignition configs again: bootstrap.ign is valid for 24 hours',
    isFinal: true,
  },
  'ignition.not-rendered': {
    kind: 'cluster',
    title: 'The Ignition of the single node was not rendered',
    hint: 'read the log on the host: journalctl -u bootkube.service',
    isFinal: true,
  },
} as const satisfies FailureTable;

/** Builds an error of fetching an Ignition config. */
export const ignitionSourceFailure = failuresOf(ignitionSourceFailures);

/** `ignition.file-not-found` of a path on the host. */
export const ignitionFileMissing = (path: string): AgentError =>
  ignitionSourceFailure('ignition.file-not-found', `${path} is not on the host`, {
    context: { path },
  });
