import { secrets } from '../../cluster/kinds.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { Installer } from '../../ports/installer.ts';
import type { Controller } from '../../reconcile/manager.ts';
import type { Result } from '../../reconcile/queue.ts';
import { ownNames } from '../api.ts';
import { assetsSecret } from './assets.ts';
import { areAssetsDue } from './decide.ts';
import { readInputs } from './inputs.ts';
import { ownerOf } from './machines.ts';
import { type ControlPlaneScope, isTaken, readTemplate } from './perform.ts';
import {
  type ControlPlaneStores,
  type ControlPlaneView,
  readView,
  refOf,
  storedView,
} from './view.ts';

/** Why files could not be made, for the conditions of their control plane. */
export interface AssetsBoard {
  /** By the key of the control plane, with the hash of what was tried. */
  readonly failures: Map<string, { readonly hash: string; readonly error: unknown }>;
  /** Makes a control plane be decided on. */
  readonly changed: (key: string) => void;
}

interface AssetsScope extends ControlPlaneScope {
  readonly installer: Installer | undefined;
}

interface AssetsShared {
  readonly stores: ControlPlaneStores;
  readonly board: AssetsBoard;
}

/** The installer takes a processor and memory of its own. */
const mostRuns = 2;

/**
 * Makes the files of each control plane once: the Secret that is made of them is what counts, and whoever comes later throws
 * away what it made. What failed for its inputs is tried again with others.
 */
export function assetsController(
  scope: AssetsScope,
  shared: AssetsShared,
): Pick<Controller, 'atOnce' | 'reconcile'> {
  return { atOnce: mostRuns, reconcile: (key, signal) => make(scope, shared, key, signal) };
}

async function make(
  scope: AssetsScope,
  { stores, board }: AssetsShared,
  key: string,
  signal: AbortSignal,
): Promise<Result> {
  const { kube, clock, installer, note } = scope;
  const seen = storedView(stores, refOf(key));
  if (seen === undefined || !isDue(scope, seen, true) || installer === undefined) return {};
  const { controlPlane } = seen;
  const template = await readTemplate(kube, controlPlane, signal);
  const { inputs, hash } = await readInputs(kube, controlPlane, signal);
  if (inputs === undefined || !('template' in template)) return {};
  const failed = board.failures.get(key);
  if (failed?.hash === hash && asAgentError(failed.error).isFinal) return {};
  try {
    const files = await installer.make(inputs, signal);
    const view = await readView(kube, controlPlane, signal);
    if (view?.cluster === undefined || !isDue(scope, view, true)) return {};
    const again = await readInputs(kube, view.controlPlane, signal);
    if (again.hash !== hash) return { after: 0 };
    const { namespace = '', annotations } = view.controlPlane.metadata;
    const mco = annotations?.[ownNames.mcoImage];
    const owner = {
      ...{ owner: ownerOf(view.controlPlane, true), namespace, inputsHash: hash },
      ...{ cluster: view.cluster.metadata.name, images: mco === undefined ? {} : { mco } },
    };
    const secret = assetsSecret(files, owner, clock.now());
    await kube.create({ kind: secrets, namespace }, secret, signal);
    board.failures.delete(key);
    note('info', `the files of control plane ${key} are made`, { hash });
    return {};
  } catch (error) {
    signal.throwIfAborted();
    if (isTaken(error)) return {};
    const { code, isFinal } = asAgentError(error);
    if (!code.startsWith('installer.')) throw error;
    board.failures.set(key, { hash, error });
    board.changed(key);
    if (!isFinal || code === 'installer.timed-out') throw error;
    note('warn', `the files of control plane ${key} cannot be made`, { code });
    return {};
  }
}

const isDue = (
  { clock }: Pick<AssetsScope, 'clock'>,
  view: ControlPlaneView,
  hasTemplate: boolean,
): boolean => areAssetsDue({ view, now: clock.now(), hasTemplate, isAnswering: false });
