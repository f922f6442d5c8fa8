import { Buffer } from 'node:buffer';
import { gzipSync } from 'node:zlib';
import type { KubeObject } from '../../ports/kube.ts';
import { assetKeys, assetsSecretName, capiNames, type OwnerReference, ownNames } from '../api.ts';
import { secretData } from '../objects.ts';
import { installerFailure, type InstallFiles, madeFiles } from './installer.ts';
import { removeJobs, stepByJobs } from './installer-jobs.ts';
import type { Pass } from './pass.ts';

/**
 * Takes the next step to make the files of a control plane, by Jobs whose events trigger the next
 * step. Makes files once, and never if a host may have used some.
 * @throws AgentError as `stepByJobs`
 */
export async function makeAssets(pass: Pass, signal: AbortSignal): Promise<void> {
  const { view, template } = pass;
  const { controlPlane, cluster } = view;
  const { inputs, hash = '' } = pass.inputs ?? {};
  if (inputs === undefined || template === undefined || cluster === undefined) return;
  if (!view.isInfrastructureReady || view.assets !== undefined) return;
  await stepByJobs(pass, { controlPlane, cluster, inputs, hash }, signal);
}

/** Removes the Jobs once the files exist. */
export async function removeUsedJobs(
  { view, hasJobs, kube, metrics }: Pass,
  signal: AbortSignal,
): Promise<void> {
  const isDue = view.hasAssets && hasJobs;
  if (isDue && (await removeJobs(kube, view.controlPlane, signal))) metrics?.installerEnded('made');
}

/** Maximum size of a Secret (Kubernetes, `MaxSecretSize`). */
const mostBytes = 1024 * 1024;

/** The control plane of a Secret with files. */
export interface AssetsOwner {
  readonly owner: OwnerReference;
  readonly namespace: string;
  readonly cluster: string;
  readonly inputsHash: string;
  /** Images of the release, if known. */
  readonly mcoImage?: string | undefined;
  readonly coreOsImage?: string | undefined;
}

/**
 * The Secret with the installer's files. Its creation decides: a later run discards its own files.
 * @throws AgentError `installer.failed` if a file is missing, `installer.too-large`
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
    // A single node makes its own master Ignition while it bootstraps.
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
