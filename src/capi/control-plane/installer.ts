import { Buffer } from 'node:buffer';
import { gzipSync } from 'node:zlib';
import { masker } from '../../lib/masker.ts';
import { shownText } from '../../lib/shown-url.ts';
import { failuresOf, type FailureTable } from '../../model/failure.ts';
import { Secret } from '../../model/secret.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { assetKeys, assetsSecretName, capiNames, controlPlaneType, ownNames } from '../api.ts';
import { firstManifest, type InstallState, installStateKeys } from '../install-state.ts';
import { secretData } from '../objects.ts';

/** Label `app` of all objects that take part in making the files of a cluster. */
export const assetsApp = 'bootwright-installer';

/** A manifest of the user. */
export interface InstallManifest {
  readonly folder: 'manifests' | 'openshift';
  readonly name: string;
  readonly content: string;
  /** The name of its Secret. */
  readonly secret: string;
}

/** Inputs of the installer. Its install-config or its state exists. */
export interface InstallInputs extends InstallState {
  /** The name of the Secret that holds them. */
  readonly stateSecret: string;
  readonly manifests: readonly InstallManifest[];
  readonly releaseImage: string;
  /** Whether the cluster is a single node, which bootstraps in place. */
  readonly isSingleNode: boolean;
}

/** Failures of the installer. */
export const installerFailures = {
  'installer.failed': {
    kind: 'input',
    title: 'The installer could not make the files of a cluster',
    hint: 'correct the install-config or the manifests as the message says; the installer then runs again',
  },
  'installer.manifests-discarded': {
    kind: 'input',
    title: 'The installer discarded manifests',
    hint: 'give the install-config, or with a state of the installer all files of manifests and openshift unchanged',
  },
  'installer.incomplete': {
    kind: 'input',
    title: 'The manifests are not all that belong to the state of the installer',
    hint: 'give install-config.yaml too, or all files that the installer made',
  },
  'installer.too-large': {
    kind: 'input',
    title: 'The files of a cluster do not fit into a Secret',
    hint: 'make the manifests smaller: all files together have at most 1 MiB, the bootstrap Ignition compressed',
  },
  'installer.not-run': {
    kind: 'cluster',
    title: 'The Job of the installer did not run to its end',
    hint: 'look at the pods of the Job: its image, its pull secret, and the architecture of the nodes',
  },
} as const satisfies FailureTable;

/** Builds an error of the installer. */
export const installerFailure = failuresOf(installerFailures);

/**
 * A run of the installer, with the files to copy into its folder before it, from keys of Secrets.
 */
export interface InstallerRun {
  readonly command: 'manifests' | 'ignition-configs' | 'single-node-ignition-config';
  readonly files: readonly {
    readonly path: string;
    readonly secret: string;
    readonly key: string;
  }[];
}

/**
 * The runs of the installer. With an install-config, the user's manifests overwrite the generated
 * ones. A state is used with all its manifests, or where there is no install-config and no
 * manifest; beside it, an install-config would count as changed and discard the manifests
 * (openshift/installer, `pkg/asset/store`).
 * @throws AgentError `installer.incomplete`
 */
export function installerRuns(inputs: InstallInputs): readonly InstallerRun[] {
  const { config, state, manifests, isSingleNode, stateSecret } = inputs;
  const command = isSingleNode ? 'single-node-ignition-config' : 'ignition-configs';
  const ofState = (key: string) => ({ path: key, secret: stateSecret, key });
  const laid = manifests.map(({ folder, name: key, secret }) => ({
    path: `${folder}/${key}`,
    secret,
    key,
  }));
  // The installer leaves a state with an install-config that the user may have edited since.
  const isStateUsed =
    laid.length === 0 ? config === undefined : laid.some(({ path }) => path === firstManifest);
  if (state !== undefined && isStateUsed)
    return [{ command, files: [ofState(installStateKeys.state), ...laid] }];
  if (config === undefined) {
    const what = `${firstManifest} is not among the ${manifests.length} manifests`;
    throw installerFailure('installer.incomplete', what);
  }
  return [
    { command: 'manifests', files: [ofState(installStateKeys.config)] },
    { command, files: laid },
  ];
}

/**
 * The log line in which the installer reports a discarded file (openshift/installer,
 * `pkg/asset/store`).
 */
export const discardedLine = (log: string): string | undefined =>
  log
    .split('\n')
    .find((line) => line.includes('Discarding the ') && / (directory|because)/.test(line));

/** The files that are stored; for a single node the first has another name. */
export const madeFiles = {
  bootstrap: 'bootstrap.ign',
  singleNode: 'bootstrap-in-place-for-live-iso.ign',
  master: 'master.ign',
  worker: 'worker.ign',
  kubeconfig: 'auth/kubeconfig',
  password: 'auth/kubeadmin-password',
  metadata: 'metadata.json',
} as const;

/** Maximum size of a Secret (Kubernetes, `MaxSecretSize`). */
const mostBytes = 1024 * 1024;

/** The control plane of a Secret with files. */
export interface AssetsOwner {
  readonly namespace: string;
  readonly cluster: string;
  readonly controlPlane: string;
  readonly uid: string;
  readonly inputsHash: string;
  /** Images of the release, if known. */
  readonly mcoImage?: string;
  readonly coreosImage?: string;
}

/**
 * The Secret with the installer's files. Its creation decides: a later run discards its own files.
 * @param files by their paths in the installer's folder
 * @throws AgentError `installer.failed` if a file is missing, `installer.too-large`
 */
export function assetsSecret(
  files: Readonly<Record<string, Uint8Array>>,
  { namespace, cluster, controlPlane: name, uid, inputsHash, ...images }: AssetsOwner,
  now: number,
): KubeObject {
  const file = (path: string): Uint8Array => {
    const content = files[path];
    if (content !== undefined) return content;
    throw installerFailure('installer.failed', `the installer has not made ${path}`);
  };
  const { master, worker, password, metadata } = madeFiles;
  const bootstrap = files[madeFiles.bootstrap] ?? file(madeFiles.singleNode);
  const given: Readonly<Record<string, Uint8Array | string | undefined>> = {
    [assetKeys.bootstrapIgnition]: gzipSync(bootstrap, { level: 9 }),
    // A single node makes its own master Ignition while it bootstraps.
    [assetKeys.masterIgnition]: files[master],
    [assetKeys.workerIgnition]: file(worker),
    [assetKeys.kubeconfig]: file(madeFiles.kubeconfig),
    [assetKeys.kubeadminPassword]: files[password],
    [assetKeys.metadata]: files[metadata],
    [assetKeys.mcoImage]: images.mcoImage,
    [assetKeys.coreOsImage]: images.coreosImage,
  };
  const contents = Object.entries(given).flatMap(([key, content]) =>
    content === undefined ? [] : [[key, Buffer.from(content as string)] as const],
  );
  const size = contents.reduce((sum, [, { byteLength }]) => sum + byteLength, 0);
  if (size > mostBytes) {
    const sizes = contents.map(([key, { byteLength }]) => `${key} ${byteLength}`);
    throw installerFailure('installer.too-large', `${size} bytes: ${sizes.join(', ')}`);
  }
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: {
      name: assetsSecretName(name),
      namespace,
      labels: { [capiNames.clusterName]: cluster },
      annotations: {
        [ownNames.inputsHash]: inputsHash,
        [ownNames.generatedAt]: new Date(now).toISOString(),
      },
      ownerReferences: [{ ...controlPlaneType, name, uid, controller: true }],
    } as KubeObject['metadata'],
    data: secretData(Object.fromEntries(contents)),
  };
}

/** Secrets are longer than this; words of a configuration that may be printed are shorter. */
const shortestSecret = 12;

/**
 * Masks in the installer's output the secrets of its install-config and its state, and passwords of
 * addresses: it quotes a proxy that it cannot read.
 */
export function installerMask({
  config = '',
  state = '',
}: Partial<InstallState>): (text: string) => string {
  const { mask, register } = masker();
  const secrets = [config, state].flatMap((text) => [
    ...text.matchAll(/pullSecret\\?"?:\s*(?:'([^']*)'|"((?:[^"\\]|\\.)*)"|(\S.*))/g),
    ...text.matchAll(/"(?:auth|password|token)\\*":\s*\\*"()()([^"\\]+)/g),
  ]);
  for (const found of secrets) {
    const value = found.slice(1).find((one) => Boolean(one)) ?? '';
    if (value.length >= shortestSecret) register(new Secret(value));
  }
  return (text) => shownText(mask(text));
}
