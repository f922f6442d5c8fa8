import { isDeepStrictEqual } from 'node:util';
import { machineConfigPools, machineConfigs as machineConfigKind } from '../../cluster/kinds.ts';
import { listAt, partOf } from '../../layering/api/cluster-object.ts';
import { renderedNameOf } from '../../layering/api/machine-config-pool.ts';
import { fieldsOf } from '../../layering/api/schema.ts';
import { renderPool, type Rendering } from '../../layering/roll-out/render.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { type Action, performActions } from '../../reconcile/actions.ts';
import type { Controller } from '../../reconcile/manager.ts';
import { patchOf } from '../../reconcile/write.ts';
import {
  isOperatedNow,
  operatorOf,
  type PoolScope,
  type PoolStores,
  poolWarnings,
  rememberedByPool,
} from './stores.ts';

type Rendered = Extract<Rendering, { readonly config: KubeObject }>;

interface Configuring extends Action {
  readonly type: 'configure';
  readonly pool: KubeObject;
}

/** Renders the MachineConfigs of a pool, as the stores show them. */
export type RenderNow = (pool: KubeObject, signal: AbortSignal) => Promise<Rendering>;

/**
 * Keeps the rendered MachineConfig of a pool at what its MachineConfigs say. The MachineConfig is made first: a crash in
 * between leaves one that the next run finds.
 */
export function renderController(
  scope: PoolScope,
  { stores, render }: { readonly stores: PoolStores; readonly render: RenderNow },
): Pick<Controller, 'reconcile'> {
  const warnOfPool = poolWarnings(scope, 'its MachineConfigs are not rendered: ');
  return {
    reconcile: async (name, signal) => {
      const pool = stores.pools.get(name);
      if (pool === undefined) await warnOfPool(name, { reason: '', message: '' }, signal);
      if (pool === undefined || pool.metadata.deletionTimestamp !== undefined) return {};
      const nodes = stores.nodes.by('pool', name);
      if (operatorOf(nodes, stores, scope) !== undefined) return {};
      const rendering = await render(pool, signal);
      const { reason: message, isIncomplete }: Exclude<Rendering, Rendered> =
        'reason' in rendering ? rendering : { reason: '' };
      const reason = isIncomplete === true ? 'NoOSImage' : 'RenderFailed';
      await warnOfPool(name, { reason, message }, signal);
      if ('reason' in rendering) return {};
      const { config } = rendering;
      const decide = (now: KubeObject): readonly Configuring[] =>
        now.metadata.uid !== pool.metadata.uid || isConfigured(now, rendering)
          ? []
          : [{ type: 'configure', target: config.metadata.name, pool: now }];
      const readAgain = async (): Promise<KubeObject | undefined> => {
        const fieldSelector = `metadata.name=${name}`;
        const [now] = await scope.kube.list({ kind: machineConfigPools, fieldSelector }, signal);
        const isWanted = now !== undefined && isSelectionOf(now, pool);
        return isWanted && !(await isOperatedNow(scope, nodes, signal)) ? now : undefined;
      };
      const isNew = stores.machineConfigs.get(config.metadata.name) === undefined;
      const configure = async ({ pool: now }: Configuring): Promise<void> => {
        if (isNew) await scope.kube.create({ kind: machineConfigKind }, config, signal);
        const body = { spec: { configuration: configurationOf(rendering) } };
        await scope.kube.patch({ kind: machineConfigPools, name }, patchOf(now, body), signal);
        scope.note('info', `pool ${name}: its configuration is ${config.metadata.name}`);
      };
      await performActions({ seen: pool, decide, readAgain, table: { configure } }, signal);
      return {};
    },
  };
}

/** What was rendered is of what the pool selects still, and nobody deletes it. */
const isSelectionOf = (now: KubeObject, seen: KubeObject): boolean =>
  now.metadata.deletionTimestamp === undefined &&
  isDeepStrictEqual(
    partOf(now, 'spec', 'machineConfigSelector'),
    partOf(seen, 'spec', 'machineConfigSelector'),
  );

const isConfigured = (pool: KubeObject, { config, sources }: Rendered): boolean =>
  renderedNameOf(pool) === config.metadata.name &&
  isDeepStrictEqual(
    listAt(pool, 'spec', 'configuration', 'source').map((one) => fieldsOf(one)['name']),
    sources,
  );

function configurationOf({ config, sources }: Rendered): object {
  const of = { apiVersion: 'machineconfiguration.openshift.io/v1', kind: 'MachineConfig' };
  const source = sources.map((name) => ({ ...of, name }));
  return { ...of, name: config.metadata.name, source };
}

/** Renders only what has changed. */
export function rememberedRendering(): typeof renderPool {
  const remembered = rememberedByPool<Rendering>();
  return (pool, all, release) => {
    const { uid } = pool.metadata;
    const selector = partOf(pool, 'spec', 'machineConfigSelector');
    const versions = all.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`);
    const images = release?.metadata.resourceVersion;
    const from = JSON.stringify([uid, selector, renderedNameOf(pool), versions, images]);
    return remembered(pool, from, () => renderPool(pool, all, release));
  };
}
