import { gunzipSync } from 'node:zlib';
import { secrets as secretKind } from '../../cluster/kinds.ts';
import { textAt } from '../../layering/api/cluster-object.ts';
import type { HttpAnswer } from '../../ports/http-route.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { assetKeys, assetsSecretName } from '../api.ts';
import { secretValue } from '../bootstrap/inputs.ts';
import { secretBytes } from '../objects.ts';
import { nodeIgnition } from '../bootstrap/node-ignition.ts';
import { readControlPlane } from '../control-plane/view.ts';
import { hostsCondition } from '../host-checks.ts';
import { type Caller, RefusedCall, requireBootstrap } from './access.ts';
import { servesWorkers } from './records.ts';

interface DownloadScope {
  readonly kube: Pick<Kube, 'get' | 'list'>;
  readonly caller: Caller;
  readonly signal: AbortSignal;
}

/** How long a host waits before it asks again for what will be there. */
const later = { 'retry-after': '10' } as const;

/**
 * The Ignition that the host puts on its disk. A worker gets it once the cluster runs: the config server of a bootstrap host
 * serves no workers (openshift/installer, pull request 10590). A master gets none while hosts of the control plane contradict each other.
 * @throws RefusedCall 409 with Retry-After until then
 */
export async function hostIgnition(scope: DownloadScope): Promise<HttpAnswer> {
  const { role, controlPlane, config, machine } = scope.caller;
  const isWorker = role === 'worker';
  if (isWorker && !servesWorkers(controlPlane))
    throw new RefusedCall(409, 'the control plane of the cluster is not initialized yet', later);
  const assets = await assetsOf(scope);
  const key = isWorker ? assetKeys.workerIgnition : assetKeys.masterIgnition;
  const pointer = secretValue(assets, key);
  if (pointer === undefined) throw new RefusedCall(409, `${key} is not there yet`, later);
  const text = nodeIgnition({
    ...{ pointer, configServerCa: secretValue(assets, assetKeys.configServerCa) },
    ...(config.spec.nodeRegistration && { nodeRegistration: config.spec.nodeRegistration }),
    providerID: textAt(machine, 'spec', 'providerID'),
  });
  if (!isWorker) await requireValidHosts(scope);
  return download(`${isWorker ? 'worker' : 'master'}.ign`, text);
}

/**
 * The hosts are read again: what a disk is written with cannot be taken back.
 * @throws RefusedCall 409 with Retry-After while those of the control plane contradict each other
 */
async function requireValidHosts({ kube, caller, signal }: DownloadScope): Promise<void> {
  const { controlPlane } = caller;
  const view = controlPlane && (await readControlPlane(kube, controlPlane, signal));
  const { status, message = '' } = view === undefined ? {} : hostsCondition(view);
  if (status === 'False') throw new RefusedCall(409, message, later);
}

type Offered = Readonly<Record<string, string>>;

/** Files that hosts ask for by name, and where they are among the assets. */
const offered: Readonly<Record<'files' | 'credentials', Offered>> = {
  files: {
    'bootstrap.ign': assetKeys.bootstrapIgnition,
    'master.ign': assetKeys.masterIgnition,
    'worker.ign': assetKeys.workerIgnition,
  },
  credentials: {
    kubeconfig: assetKeys.kubeconfig,
    'kubeconfig-noingress': assetKeys.kubeconfigNoIngress,
  },
};

/**
 * A file of the cluster: for the bootstrap host alone, as it holds all keys of the cluster.
 * @throws RefusedCall 403 for others, 422 for what is no file, 409 for one that is not there yet, and for bootstrap.ign as `requireValidHosts`
 */
export async function clusterFile(
  scope: DownloadScope,
  area: keyof typeof offered,
  name: string,
): Promise<HttpAnswer> {
  requireBootstrap(scope.caller);
  const keys = offered[area];
  const key = Object.hasOwn(keys, name) ? keys[name] : undefined;
  if (key === undefined)
    throw new RefusedCall(
      422,
      `file_name in query should be one of [${Object.keys(keys).join(' ')}]`,
    );
  const bytes = secretBytes(await assetsOf(scope), key);
  if (bytes === undefined || bytes.length === 0)
    throw new RefusedCall(409, `${name} is not there yet`, later);
  if (key === assetKeys.bootstrapIgnition) await requireValidHosts(scope);
  return download(name, key.endsWith('.gz') ? unpacked(bytes) : bytes);
}

/** An Ignition is far smaller; a Secret that unpacks to more is none of ours. */
const largestFile = 64 * 1024 * 1024;

const unpacked = (bytes: Uint8Array): Buffer => gunzipSync(bytes, { maxOutputLength: largestFile });

async function assetsOf({ kube, caller, signal }: DownloadScope): Promise<KubeObject> {
  const { controlPlane } = caller;
  if (controlPlane === undefined)
    throw new RefusedCall(409, 'the cluster has no control plane yet', later);
  const { name, namespace = '' } = controlPlane.metadata;
  const ref = { kind: secretKind, namespace, name: assetsSecretName(name) };
  const assets = await kube.get(ref, signal);
  if (assets === undefined)
    throw new RefusedCall(409, 'the files of the installer are not there yet', later);
  return assets;
}

const download = (name: string, body: string | Uint8Array): HttpAnswer => ({
  status: 200,
  headers: {
    'content-type': 'application/octet-stream',
    'content-disposition': `attachment; filename="${name}"`,
  },
  body,
});
