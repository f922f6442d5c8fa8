import { Buffer } from 'node:buffer';
import { gzipSync } from 'node:zlib';
import { secrets } from '../../kube/kinds.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { AgentError } from '../../model/failure.ts';
import {
  type Installer,
  installerFailure,
  type InstallFiles,
  type InstallInputs,
  madeFiles,
} from '../../ports/installer.ts';
import type { Controller } from '../../kube/manager.ts';
import type { Result } from '../../kube/queue.ts';
import { assetKeys, assetsSecretName, capiNames, type OwnerReference, ownNames } from '../api.ts';
import type { ManagerMetrics } from '../../ports/manager-metrics.ts';
import { areAssetsDue } from './decide.ts';
import {
  controlPlaneFacts,
  type ControlPlaneStores,
  type ControlPlaneView,
  readControlPlane,
  storedControlPlane,
} from './view.ts';
import { readInstallInputs } from './inputs.ts';
import { ownerOf } from './machines.ts';
import { type ControlPlaneScope, readTemplate } from './perform.ts';
import { removeJobs, stepByJobs } from './installer-jobs.ts';
import { isControlledBy, placed, refOf, secretData } from '../objects.ts';
import { isConflict, isRefused } from '../../ports/kube-failures.ts';
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
  readonly installer: Installer | undefined;
  readonly ownImage: string | undefined;
  /** Told of each run of the installer. */
  readonly installerEnded?: ManagerMetrics['installerEnded'] | undefined;
}

/** The installer takes a processor and memory of its own. */
const mostRuns = 2;

/**
 * Makes the files of each control plane once: the Secret that is made of them is what counts, and
 * whoever comes later throws away what it made. What failed for its inputs is tried again with
 * others.
 */
export function assetsController(
  scope: AssetsScope,
  { stores, board }: { readonly stores: ControlPlaneStores; readonly board: AssetsBoard },
): Pick<Controller, 'atOnce' | 'reconcile'> {
  return {
    atOnce: mostRuns,
    reconcile: async (key, signal) => {
      const view = storedControlPlane(stores, refOf(key));
      if (view === undefined) return {};
      await endJobs(scope, stores, view, signal);
      if (!isDue(scope, view)) return {};
      const given = await givenFor(scope, view, signal);
      if (given === undefined) return {};
      const failed = board.failures.get(key);
      // These inputs were tried, and nothing but others can help.
      if (failed?.hash === given.hash && failed.error.isFinal) return {};
      try {
        const result = await make(scope, given, signal);
        if (board.failures.delete(key)) board.changed(key);
        return result;
      } catch (error) {
        signal.throwIfAborted();
        if (isConflict(error)) return {};
        const failure = asAgentError(error);
        const { code, isFinal } = failure;
        if (code.startsWith('installer.')) scope.installerEnded?.('failed');
        else if (!isRefused(error)) throw error;
        board.failures.set(key, { hash: given.hash, error: failure });
        board.changed(key);
        if (!isFinal) throw error;
        scope.note('warn', `the files of control plane ${key} cannot be made`, { code });
        return {};
      }
    },
  };
}

/** What files are made of. */
interface Given {
  readonly view: ControlPlaneView;
  readonly inputs: InstallInputs;
  readonly hash: string;
}

/**
 * Undefined while something of it is missing or wrong. A store may not show yet what was just made:
 * it is read again.
 */
async function givenFor(
  scope: AssetsScope,
  stored: ControlPlaneView,
  signal: AbortSignal,
): Promise<Given | undefined> {
  const { kube } = scope;
  const view = await readControlPlane(kube, stored.controlPlane, signal);
  if (view === undefined || !isDue(scope, view)) return undefined;
  const template = await readTemplate(kube, view.controlPlane, signal);
  const { inputs, hash } = await readInstallInputs(kube, view.controlPlane, signal);
  return inputs === undefined || !('template' in template) ? undefined : { view, inputs, hash };
}

async function make(scope: AssetsScope, given: Given, signal: AbortSignal): Promise<Result> {
  const { kube, clock, installer, installerEnded, note } = scope;
  if (installer === undefined) {
    const { controlPlane, cluster } = given.view;
    if (cluster !== undefined) await stepByJobs(scope, { ...given, controlPlane, cluster }, signal);
    return {};
  }
  const files = await installer.make(given.inputs, signal);
  const view = await readControlPlane(kube, given.view.controlPlane, signal);
  if (view?.cluster === undefined || !isDue(scope, view)) return {};
  const again = await readInstallInputs(kube, view.controlPlane, signal);
  if (again.hash !== given.hash) return { after: 0 };
  const { namespace = '', name, annotations } = view.controlPlane.metadata;
  const mco = annotations?.[ownNames.mcoImage];
  const owner = {
    owner: ownerOf(view.controlPlane, true),
    namespace,
    inputsHash: given.hash,
    cluster: view.cluster.metadata.name,
    images: { mco },
  };
  const secret = assetsSecret(files, owner, clock.now());
  await kube.create({ kind: secrets, namespace, denials: 'final' }, secret, signal);
  installerEnded?.('made');
  note('info', `the files of control plane ${namespace}/${name} are made`, { hash: given.hash });
  return {};
}

/** Nothing of the Jobs is needed once the files are there. */
async function endJobs(
  { kube, clock, installerEnded }: AssetsScope,
  stores: ControlPlaneStores,
  view: ControlPlaneView,
  signal: AbortSignal,
): Promise<void> {
  const { controlPlane, cluster } = view;
  const { uid } = controlPlane.metadata;
  const facts = controlPlaneFacts(view, clock.now());
  if (cluster === undefined || !facts.hasAssets || facts.isPaused) return;
  const found = stores.jobs
    .by('cluster', placed(controlPlane, cluster.metadata.name))
    .filter((job) => isControlledBy(job, uid));
  if (found.length === 0) return;
  await removeJobs(kube, { controlPlane, found }, signal);
  installerEnded?.('made');
}

/** By what is seen of the control plane alone. */
const isDue = ({ clock }: Pick<AssetsScope, 'clock'>, view: ControlPlaneView): boolean =>
  areAssetsDue({ view, now: clock.now(), hasTemplate: true, isAnswering: false });

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
