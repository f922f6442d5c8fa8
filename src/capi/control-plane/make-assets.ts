import { Buffer } from 'node:buffer';
import { gzipSync } from 'node:zlib';
import { asAgentError } from '../../engine/failures.ts';
import type { Result } from '../../kube/queue.ts';
import type { AgentError } from '../../model/failure.ts';
import { isRefused } from '../../ports/kube-failures.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { ManagerMetrics } from '../../ports/manager-metrics.ts';
import { assetKeys, assetsSecretName, capiNames, type OwnerReference, ownNames } from '../api.ts';
import { isControlledBy, placed, refOf, secretData } from '../objects.ts';
import { readInstallInputs } from './inputs.ts';
import { installerFailure, type InstallFiles, madeFiles } from './installer.ts';
import { ownJobs, removeJobs, stepByJobs } from './installer-jobs.ts';
import { type ControlPlaneScope, hasFinalizer } from './reconcile.ts';
import { readTemplate } from './template.ts';
import {
  type ControlPlaneStores,
  type ControlPlaneView,
  readControlPlane,
  storedControlPlane,
} from './view.ts';

/** The last run of the installer that failed. */
export interface FailedInstaller {
  /** Hash of its inputs. */
  readonly hash: string;
  readonly error: AgentError;
}

interface AssetsScope extends ControlPlaneScope {
  readonly stores: ControlPlaneStores;
  /** Failures for the conditions of control planes, by their keys. */
  readonly failures: Map<string, FailedInstaller>;
  /** Called with the key of a control plane whose failure has changed. */
  readonly changed: (key: string) => void;
  /** Our image, for the Job that stores the files. */
  readonly ownImage: string | undefined;
  readonly installerEnded?: ManagerMetrics['installerEnded'] | undefined;
}

/**
 * Makes the files of a control plane once, by Jobs whose events call for the next step. A failure
 * by its inputs is final until the inputs change.
 */
export async function makeAssets(
  scope: AssetsScope,
  key: string,
  signal: AbortSignal,
): Promise<Result> {
  const { kube, clock, stores, failures, changed } = scope;
  const stored = storedControlPlane(stores, refOf(key), clock.now());
  if (stored === undefined) return {};
  await removeUsedJobs(scope, stored, signal);
  if (!areAssetsDue(stored)) return {};
  // A store may not show yet what was just created.
  const view = await readControlPlane(kube, stored.controlPlane, clock.now(), signal);
  if (view?.cluster === undefined || !areAssetsDue(view)) return {};
  const { controlPlane, cluster } = view;
  const template = await readTemplate(kube, controlPlane, signal);
  const { inputs, hash } = await readInstallInputs(kube, controlPlane, signal);
  if (inputs === undefined || !('template' in template)) return {};
  const failed = failures.get(key);
  if (failed?.hash === hash && failed.error.isFinal) return {};
  try {
    await stepByJobs(scope, { controlPlane, cluster, inputs, hash }, signal);
    if (failures.delete(key)) changed(key);
  } catch (thrown) {
    signal.throwIfAborted();
    recordFailure(scope, key, hash, thrown);
  }
  return {};
}

/** @throws a failure that may end by itself */
function recordFailure(
  { failures, changed, installerEnded, note }: AssetsScope,
  key: string,
  hash: string,
  thrown: unknown,
): void {
  const error = asAgentError(thrown);
  const { code, isFinal } = error;
  if (code.startsWith('installer.')) installerEnded?.('failed');
  else if (!isRefused(thrown)) throw thrown;
  failures.set(key, { hash, error });
  changed(key);
  if (!isFinal) throw thrown;
  note('warn', `the files of control plane ${key} cannot be made`, { code });
}

/** Whether the files of the cluster are to be made: never once a host may work with some. */
const areAssetsDue = (view: ControlPlaneView): boolean =>
  !view.isPaused &&
  !view.isDeleting &&
  hasFinalizer(view.controlPlane) &&
  view.isInfrastructureReady &&
  view.assets === undefined &&
  !view.areAssetsLost;

/** The Jobs are not needed once the files exist. */
async function removeUsedJobs(
  { kube, stores, installerEnded }: AssetsScope,
  view: ControlPlaneView,
  signal: AbortSignal,
): Promise<void> {
  const { controlPlane, cluster, hasAssets, isPaused } = view;
  if (cluster === undefined || !hasAssets || isPaused) return;
  const stored = stores.jobs.by('cluster', placed(controlPlane, cluster.metadata.name));
  if (!stored.some((job) => isControlledBy(job, controlPlane.metadata.uid))) return;
  // A store still shows those that the last pass has removed.
  const found = await ownJobs(kube, controlPlane, signal);
  if (found.length === 0) return;
  await removeJobs(kube, controlPlane, found, signal);
  installerEnded?.('made');
}

/** A Secret has no more (Kubernetes, `MaxSecretSize`). */
const mostBytes = 1024 * 1024;

/** The control plane that a Secret of files belongs to. */
export interface AssetsOwner {
  readonly owner: OwnerReference;
  readonly namespace: string;
  readonly cluster: string;
  readonly inputsHash: string;
  /** Images of the release, where they are known. */
  readonly mcoImage?: string | undefined;
  readonly coreOsImage?: string | undefined;
}

/**
 * The Secret with the installer's files. Its creation decides: a later run discards its own files.
 * @throws AgentError `installer.failed` where a file is missing, `installer.too-large`
 */
export function assetsSecret(
  files: InstallFiles,
  { owner, namespace, cluster, inputsHash, mcoImage, coreOsImage }: AssetsOwner,
  now: number,
): KubeObject {
  const file = (name: string): Uint8Array => {
    const content = files[name];
    if (content !== undefined) return content;
    throw installerFailure('installer.failed', `the installer has not made ${name}`);
  };
  const { master, worker, password, metadata } = madeFiles;
  const isSingleNode = files[madeFiles.bootstrap] === undefined;
  const kubeconfig = file(madeFiles.kubeconfig);
  const bootstrap = file(isSingleNode ? madeFiles.singleNode : madeFiles.bootstrap);
  const given: Readonly<Record<string, Uint8Array | string | undefined>> = {
    [assetKeys.bootstrapIgnition]: gzipSync(bootstrap, { level: 9 }),
    // A single node makes its own while it bootstraps.
    [assetKeys.masterIgnition]: files[master],
    [assetKeys.workerIgnition]: file(worker),
    [assetKeys.kubeconfig]: kubeconfig,
    [assetKeys.kubeconfigNoIngress]: kubeconfig,
    [assetKeys.kubeadminPassword]: files[password],
    [assetKeys.metadata]: files[metadata],
    [assetKeys.mcoImage]: mcoImage,
    [assetKeys.coreOsImage]: coreOsImage,
  };
  const contents = Object.entries(given).flatMap(([key, content]) =>
    content === undefined || content === '' ? [] : [[key, Buffer.from(content as string)] as const],
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
      name: assetsSecretName(owner.name),
      namespace,
      labels: { [capiNames.clusterName]: cluster },
      annotations: {
        [ownNames.inputsHash]: inputsHash,
        [ownNames.generatedAt]: new Date(now).toISOString(),
        ...(isSingleNode && { [ownNames.singleNode]: '' }),
      },
      ownerReferences: [owner],
    } as KubeObject['metadata'],
    data: secretData(Object.fromEntries(contents)),
  };
}
