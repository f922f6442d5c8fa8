import { Buffer } from 'node:buffer';
import { gzipSync } from 'node:zlib';
import { asAgentError } from '../../engine/failures.ts';
import type { AgentError } from '../../model/failure.ts';
import { installerFailure, type InstallFiles, madeFiles } from './installer.ts';
import type { Result } from '../../kube/queue.ts';
import { assetKeys, assetsSecretName, capiNames, type OwnerReference, ownNames } from '../api.ts';
import type { ManagerMetrics } from '../../ports/manager-metrics.ts';
import {
  controlPlaneFacts,
  type ControlPlaneStores,
  type ControlPlaneView,
  readControlPlane,
  storedControlPlane,
} from './view.ts';
import { readInstallInputs } from './inputs.ts';
import { type ControlPlaneScope, hasFinalizer } from './reconcile.ts';
import { readTemplate } from './template.ts';
import { assetsApp, removeJobs, stepByJobs } from './installer-jobs.ts';
import { jobs } from '../../kube/kinds.ts';
import { isControlledBy, placed, refOf, secretData } from '../objects.ts';
import { isRefused } from '../../ports/kube-failures.ts';
import type { KubeObject } from '../../ports/kube.ts';

/** A run of the installer that failed, by the hash of what it was given. */
export interface FailedInstaller {
  readonly hash: string;
  readonly error: AgentError;
}

/** Why files could not be made, for the conditions of their control plane. */
export interface AssetsBoard {
  /** By the key of the control plane, whose last run failed. */
  readonly failures: Map<string, FailedInstaller>;
  /** Makes a control plane be decided on. */
  readonly changed: (key: string) => void;
}

interface AssetsScope extends ControlPlaneScope {
  readonly stores: ControlPlaneStores;
  readonly board: AssetsBoard;
  readonly ownImage: string | undefined;
  /** Told of each run of the installer. */
  readonly installerEnded?: ManagerMetrics['installerEnded'] | undefined;
}

/**
 * Makes the files of a control plane once, by Jobs whose events call for the next step. What failed
 * for its inputs is tried again with others.
 */
export async function makeAssets(
  scope: AssetsScope,
  key: string,
  signal: AbortSignal,
): Promise<Result> {
  const { kube, clock, stores, board } = scope;
  const stored = storedControlPlane(stores, refOf(key));
  if (stored === undefined) return {};
  await endJobs(scope, stored, signal);
  if (!areAssetsDue(stored, clock.now())) return {};
  // A store may not show yet what was just made.
  const view = await readControlPlane(kube, stored.controlPlane, signal);
  if (view?.cluster === undefined || !areAssetsDue(view, clock.now())) return {};
  const { controlPlane, cluster } = view;
  const template = await readTemplate(kube, controlPlane, signal);
  const { inputs, hash } = await readInstallInputs(kube, controlPlane, signal);
  if (inputs === undefined || !('template' in template)) return {};
  const failed = board.failures.get(key);
  // These inputs were tried, and nothing but others can help.
  if (failed?.hash === hash && failed.error.isFinal) return {};
  try {
    await stepByJobs(scope, { controlPlane, cluster, inputs, hash }, signal);
    if (board.failures.delete(key)) board.changed(key);
  } catch (error) {
    signal.throwIfAborted();
    takeFailure(scope, { key, hash }, error);
  }
  return {};
}

/** @throws what may go away by itself */
function takeFailure(
  { board, note, installerEnded }: AssetsScope,
  { key, hash }: { readonly key: string; readonly hash: string },
  thrown: unknown,
): void {
  const error = asAgentError(thrown);
  const { code, isFinal } = error;
  if (code.startsWith('installer.')) installerEnded?.('failed');
  else if (!isRefused(thrown)) throw thrown;
  board.failures.set(key, { hash, error });
  board.changed(key);
  if (!isFinal) throw thrown;
  note('warn', `the files of control plane ${key} cannot be made`, { code });
}

/** Whether the files of the cluster are to be made: never once a host may work with some. */
function areAssetsDue(view: ControlPlaneView, now: number): boolean {
  const facts = controlPlaneFacts(view, now);
  const mayWork =
    !facts.isPaused && !facts.isDeleting && !facts.areAssetsLost && hasFinalizer(view.controlPlane);
  return mayWork && facts.isInfrastructureReady && view.assets === undefined;
}

/** Nothing of the Jobs is needed once the files are there. */
async function endJobs(
  { kube, clock, stores, installerEnded }: AssetsScope,
  view: ControlPlaneView,
  signal: AbortSignal,
): Promise<void> {
  const { controlPlane, cluster } = view;
  const { uid } = controlPlane.metadata;
  const facts = controlPlaneFacts(view, clock.now());
  if (cluster === undefined || !facts.hasAssets || facts.isPaused) return;
  const stored = stores.jobs.by('cluster', placed(controlPlane, cluster.metadata.name));
  if (!stored.some((job) => isControlledBy(job, uid))) return;
  // A store still shows those that the last pass has removed.
  const { namespace } = controlPlane.metadata;
  const all = await kube.list({ kind: jobs, namespace, labelSelector: `app=${assetsApp}` }, signal);
  const found = all.filter(
    (job) => isControlledBy(job, uid) && job.metadata.deletionTimestamp === undefined,
  );
  if (found.length === 0) return;
  await removeJobs(kube, { controlPlane, found }, signal);
  installerEnded?.('made');
}

/** Of which the Secret with the installer's files is. */
export interface AssetsOwner {
  readonly owner: OwnerReference;
  readonly namespace: string;
  readonly cluster: string;
  readonly inputsHash: string;
  /** Images of the release, where they are known. */
  readonly images: Partial<Readonly<Record<'mco' | 'coreOs', string | undefined>>>;
}

/** A Secret has no more (Kubernetes, `MaxSecretSize`). */
const mostBytes = 1024 * 1024;

/**
 * The Secret with the installer's files. Its creation is what counts: whoever comes later throws
 * away what it made.
 * @throws AgentError `installer.failed` where a file is missing, `installer.too-large`
 */
export function assetsSecret(
  files: InstallFiles,
  { owner, namespace, cluster, inputsHash, images }: AssetsOwner,
  now: number,
): KubeObject {
  const file = (...names: readonly string[]): Uint8Array => {
    const content = names.map((name) => files[name]).find((one) => one !== undefined);
    if (content !== undefined) return content;
    throw installerFailure('installer.failed', `the installer has not made ${names.join(' or ')}`);
  };
  const { master, worker, password, metadata } = madeFiles;
  const kubeconfig = file(madeFiles.kubeconfig);
  const text = (value = ''): Uint8Array | undefined =>
    value === '' ? undefined : Buffer.from(value);
  const given: Readonly<Record<string, Uint8Array | undefined>> = {
    [assetKeys.bootstrapIgnition]: gzipSync(file(madeFiles.bootstrap, madeFiles.singleNode), {
      level: 9,
    }),
    // A single node makes its own while it bootstraps.
    [assetKeys.masterIgnition]: files[master],
    [assetKeys.workerIgnition]: file(worker),
    [assetKeys.kubeconfig]: kubeconfig,
    [assetKeys.kubeconfigNoIngress]: kubeconfig,
    [assetKeys.kubeadminPassword]: files[password],
    [assetKeys.metadata]: files[metadata],
    [assetKeys.mcoImage]: text(images.mco),
    [assetKeys.coreOsImage]: text(images.coreOs),
  };
  const contents = Object.fromEntries(
    Object.entries(given).flatMap(([key, content]) => (content ? [[key, content]] : [])),
  ) as Readonly<Record<string, Uint8Array>>;
  const size = Object.values(contents).reduce((sum, { byteLength }) => sum + byteLength, 0);
  if (size > mostBytes) {
    const sizes = Object.entries(contents).map(([key, { byteLength }]) => `${key} ${byteLength}`);
    throw installerFailure('installer.too-large', `${size} bytes: ${sizes.join(', ')}`);
  }
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    type: 'Opaque',
    metadata: {
      name: assetsSecretName(owner.name),
      namespace,
      labels: { [capiNames.clusterName]: cluster },
      annotations: {
        [ownNames.inputsHash]: inputsHash,
        [ownNames.generatedAt]: new Date(now).toISOString(),
        ...(files[madeFiles.bootstrap] === undefined && { [ownNames.singleNode]: '' }),
      },
      ownerReferences: [owner],
    } as KubeObject['metadata'],
    data: secretData(contents),
  };
}
