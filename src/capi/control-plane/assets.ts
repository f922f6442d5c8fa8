import { Buffer } from 'node:buffer';
import { gzipSync } from 'node:zlib';
import { type InstallFiles, installerFailure, madeFiles } from '../../ports/installer.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { assetKeys, assetsSecretName, capiNames, type OwnerReference, ownNames } from '../api.ts';
import { secretData } from '../objects.ts';

/** Of which the Secret with the installer's files is. */
export interface AssetsOwner {
  readonly owner: OwnerReference;
  readonly namespace: string;
  readonly cluster: string;
  readonly inputsHash: string;
  /** As the install-config names them. */
  readonly machineNetworks: readonly string[];
  /** Images of the release, where they are known. */
  readonly images: { readonly mco?: string; readonly coreOs?: string };
}

/** A Secret has no more (Kubernetes, `MaxSecretSize`). */
const mostBytes = 1024 * 1024;

/**
 * The Secret with the installer's files. Its creation is what counts: whoever comes later throws away what it made.
 * @throws AgentError `installer.failed` where a file is missing, `installer.too-large`
 */
export function assetsSecret(
  files: InstallFiles,
  { owner, namespace, cluster, inputsHash, machineNetworks, images }: AssetsOwner,
  now: number,
): KubeObject {
  const file = (...names: readonly string[]): Uint8Array => {
    const content = names.map((name) => files[name]).find((one) => one !== undefined);
    if (content !== undefined) return content;
    throw installerFailure('installer.failed', `the installer has not made ${names.join(' or ')}`);
  };
  const { master, worker, password, metadata } = madeFiles;
  const kubeconfig = file(madeFiles.kubeconfig);
  const optional = (key: string, name: string): Record<string, Uint8Array> => {
    const content = files[name];
    return content === undefined ? {} : { [key]: content };
  };
  const text = (key: string, value: string | undefined): Record<string, Uint8Array> =>
    value === undefined || value === '' ? {} : { [key]: Buffer.from(value) };
  const contents: Readonly<Record<string, Uint8Array>> = {
    [assetKeys.bootstrapIgnition]: gzipSync(file(madeFiles.bootstrap, madeFiles.singleNode), {
      level: 9,
    }),
    // A single node makes its own while it bootstraps.
    ...optional(assetKeys.masterIgnition, master),
    [assetKeys.workerIgnition]: file(worker),
    [assetKeys.kubeconfig]: kubeconfig,
    [assetKeys.kubeconfigNoIngress]: kubeconfig,
    ...optional(assetKeys.kubeadminPassword, password),
    ...optional(assetKeys.metadata, metadata),
    ...text(assetKeys.mcoImage, images.mco),
    ...text(assetKeys.coreOsImage, images.coreOs),
  };
  const size = Object.values(contents).reduce((sum, { byteLength }) => sum + byteLength, 0);
  if (size > mostBytes) {
    const sizes = Object.entries(contents).map(([key, { byteLength }]) => `${key} ${byteLength}`);
    throw installerFailure('installer.too-large', `${size} bytes: ${sizes.join(', ')}`);
  }
  return {
    ...{ apiVersion: 'v1', kind: 'Secret', type: 'Opaque' },
    metadata: {
      ...{ name: assetsSecretName(owner.name), namespace },
      labels: { [capiNames.clusterName]: cluster },
      annotations: {
        [ownNames.inputsHash]: inputsHash,
        [ownNames.generatedAt]: new Date(now).toISOString(),
        ...(machineNetworks.length > 0 && { [ownNames.machineNetworks]: machineNetworks.join() }),
      },
      ownerReferences: [owner],
    } as KubeObject['metadata'],
    data: secretData(contents),
  };
}
