import { readFileSync } from 'node:fs';
import { join } from 'node:path';

// Outputs for tests. RHCOS: from a node of OpenShift 4.12, as insights-core stores it; bootc:
// written after bootc's host-v1.schema.json and an output in its issue 465.

/** A checksum or the hexadecimal part of a digest: one digit, 64 times. */
export const sum = (digit: string): string => digit.repeat(64);

/** A pull spec by digest. */
export const imageOf = (digit: string): string =>
  `registry.example.com/os/node@sha256:${sum(digit)}`;

const rhcosDigest = `sha256:90780b08939d913d9cfc5565eecdd12055dd57301b2109985e149830a92ed6b1`;

/** The image that the RHCOS sample runs. */
export const rhcosImage = `quay.io/openshift-release-dev/ocp-v4.0-art-dev@${rhcosDigest}`;

/** One deployment of `rpm-ostree status --json`. */
export const rhcosDeployment = {
  'requested-local-packages': [],
  'base-commit-meta': {
    'ostree.manifest-digest': rhcosDigest,
    'ostree.importer.version': '0.8.7',
    'ostree.tar-filtered': {},
  },
  'base-removals': [],
  unlocked: 'none',
  booted: true,
  id: 'rhcos-40948b845a13349cb0d57400eebdcfdf72bb8521636a1f067fb22d92b0b73b41.0',
  osname: 'rhcos',
  pinned: false,
  'regenerate-initramfs': false,
  'container-image-reference': `ostree-unverified-registry:${rhcosImage}`,
  checksum: '40948b845a13349cb0d57400eebdcfdf72bb8521636a1f067fb22d92b0b73b41',
  'requested-packages': [],
  serial: 0,
  timestamp: 1674005544,
  packages: [],
  staged: false,
  'container-image-reference-digest': rhcosDigest,
};

/** One deployment of another image in the same form. */
export const rpmOstreeDeployment = (digit: string, more: object = {}): object => ({
  ...rhcosDeployment,
  booted: false,
  checksum: sum(digit),
  'container-image-reference': `ostree-unverified-registry:${imageOf(digit)}`,
  'container-image-reference-digest': `sha256:${sum(digit)}`,
  ...more,
});

/** `rpm-ostree status --json`. */
export const rpmOstreeOutput = (deployments: readonly object[], transaction: unknown = null) =>
  JSON.stringify({ deployments, transaction, 'cached-update': null, 'update-driver': null });

/** One entry of `bootc status`. */
export const bootcEntry = (digit: string, more: object = {}): object => ({
  image: {
    image: { image: imageOf(digit), transport: 'registry' },
    version: `41.${digit}`,
    timestamp: null,
    imageDigest: `sha256:${sum(digit)}`,
    architecture: 'amd64',
  },
  cachedUpdate: null,
  incompatible: false,
  pinned: false,
  softRebootCapable: false,
  store: 'ostreeContainer',
  ostree: { stateroot: 'default', checksum: sum(digit), deploySerial: 0 },
  ...more,
});

/** `bootc status --format=json`. */
export const bootcOutput = (status: object): string =>
  JSON.stringify({
    apiVersion: 'org.containers.bootc/v1',
    kind: 'BootcHost',
    metadata: { name: 'host' },
    spec: { image: null, bootOrder: 'default' },
    status: {
      staged: null,
      booted: null,
      rollback: null,
      rollbackQueued: false,
      type: 'bootcHost',
      ...status,
    },
  });

/** `bootc status --format=json` on a host not booted by bootc (bootc, `spec-v1-null.json`). */
export const bootcNullOutput = bootcOutput({ type: null });

/** An origin file that `ostree container image deploy` writes. */
export const originFile = (digit: string): string =>
  `[origin]\ncontainer-image-reference=ostree-unverified-registry:${imageOf(digit)}\n`;

// Outputs for tests: the output of `ostree container image deploy` of ostree-rs-ext 0.15.3, on a
// disk made in that way.

const otherArchitecture = `Error: Performing deployment

Caused by:
    0: Preparing import
    1: Fetching manifest
    2: Image has architecture arm64; expected amd64`;
const noRoom = `Error: Performing deployment

Caused by:
    0: Importing
    1: Parsing layer blob sha256:914ff936c9607254ea375c6ebeb2da4f1f74390f5ee030664406a8dca86ef332
    2: error: ostree-tar: Failed to handle file: ostree-tar: Failed to import file: Writing content object: min-free-space-percent '3%' would be exceeded, at least 734.0 MB requested
    3: Processing tar
    4: Failed to commit tar: ExitStatus(unix_wait_status(256))`;
const cut = `Error: Performing deployment

Caused by:
    0: Importing
    1: Unencapsulating base
    2: proxy failure: failed to invoke method FinishPipe: failed to invoke method FinishPipe: unexpected EOF (while reconnecting: Get "https://127.0.0.1:5444/v2/stage/lab/blobs/sha256:311a": EOF) and client error
    3: Importing commit
    4: incomplete deflate stream`;
const died = cut.replace(': EOF)', ': dial tcp 127.0.0.1:5444: connect: connection refused)');
const gone = `Error: Performing deployment

Caused by:
    0: Creating importer
    1: failed to invoke method OpenImage: failed to invoke method OpenImage: pinging container registry 127.0.0.1:5445: Get "https://127.0.0.1:5445/v2/": dial tcp 127.0.0.1:5445: connect: connection refused`;

/** Error outputs of a pull, by their cause. */
export const pullSamples = { otherArchitecture, noRoom, cut, died, gone } as const;

/**
 * The recorded answer of a real program, trimmed as by the host adapter; the README of the folder
 * gives its date.
 */
export const recorded = (name: string): string =>
  readFileSync(join(import.meta.dirname, 'os-recorded', name), 'utf8').trim();
