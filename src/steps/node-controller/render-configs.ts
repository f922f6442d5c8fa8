import { isDeepStrictEqual } from 'node:util';
import { controllerConfigs, machineConfigPools, machineConfigs } from '../../cluster/kinds.ts';
import { listAt, partOf } from '../../layering/api/cluster-object.ts';
import { renderedNameOf } from '../../layering/api/machine-config-pool.ts';
import { fieldsOf, type Value } from '../../layering/api/schema.ts';
import { nodesOfPool } from '../../layering/hand-over/pool-status.ts';
import {
  controllerConfigName,
  renderPool,
  type Rendering,
} from '../../layering/roll-out/render.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { followed, together } from '../cluster/kube-watch.ts';
import { type Action, type Decision, noLimit, reconcile } from '../reconcile.ts';
import { poolEvent } from './pool-event.ts';
import { followedPools, operatorNow, operatorOfPool, type PoolsView } from './pools-view.ts';
import { type NodeControllerScope, nodeControllerStep } from './world.ts';
import { gapIn } from '../../ports/kube-failures.ts';

/**
 * Keeps the rendered MachineConfig of each pool at what its MachineConfigs say. The MachineConfig is made first: a crash
 * in between leaves one that the next run finds.
 */
export const renderConfigs = nodeControllerStep({
  id: 'node-controller/render-configs',
  title: 'Render the MachineConfigs of pools',
  uses: ['kube', 'clock'],
  limit: noLimit,
  waitsFor: 'nothing: it goes on as long as the controller runs',
  run: async (scope) => {
    const { kube } = scope;
    const pools = followedPools(scope);
    const configs = followed(kube, { kind: machineConfigs });
    const reasons = new Map<string, string>();
    const render = rememberedRendering();
    const release = releaseReader(scope);
    await reconcile<RenderSeen, RenderAction>(scope, 'nothing: MachineConfigs are watched', {
      watch: together(pools.watch, configs.watch),
      observe: async (signal) => {
        const gap = gapIn(configs.view());
        const machineConfigs = configs.view().objects;
        return {
          view: gap === undefined ? pools.view() : { gap },
          machineConfigs,
          release: await release(signal),
          reasons,
          render,
        };
      },
      decide: renderActions,
      apply: async ({ pool, nodes, ...action }, signal) => {
        const { name } = pool.metadata;
        if ('reason' in action) {
          const { reason: message, isIncomplete } = action;
          reasons.set(name, message);
          if (message === '') return;
          scope.note('warn', `pool ${name}: its MachineConfigs are not rendered: ${message}`);
          const reason = isIncomplete === true ? 'NoOSImage' : 'RenderFailed';
          const notice = { pool: name, type: 'Warning', reason, message } as const;
          await poolEvent(scope, notice, signal);
          return;
        }
        // The watch sees it too, and then decides otherwise.
        if ((await operatorNow(scope, nodes, signal)) !== undefined) return;
        if (action.isNew) await kube.create({ kind: machineConfigs }, action.config, signal);
        await kube.patch(
          { kind: machineConfigPools, name },
          poolPatch({ pool, ...action }),
          signal,
        );
        scope.note('info', `pool ${name}: its configuration is ${action.config.metadata.name}`);
      },
    });
  },
});

/** Renders the MachineConfigs of a pool. */
export type Render = typeof renderPool;

interface RenderSeen {
  readonly view: PoolsView | { readonly gap: string };
  readonly machineConfigs: readonly KubeObject[];
  readonly release?: KubeObject | undefined;
  /** Why a pool could not be rendered, as it was said last; empty once it could be. */
  readonly reasons: ReadonlyMap<string, string>;
  readonly render: Render;
}

interface PoolAction extends Action {
  readonly pool: KubeObject;
  readonly nodes: readonly KubeObject[];
}

interface Configured {
  readonly config: KubeObject;
  readonly sources: readonly string[];
  /** The MachineConfig is not there yet. */
  readonly isNew: boolean;
}

type RenderAction = PoolAction & (Configured | Exclude<Rendering, Rendered>);

/** What is to be rendered and put into pools, and what is to be said of pools that cannot be rendered. */
export function renderActions({
  view,
  machineConfigs,
  release,
  reasons,
  render,
}: RenderSeen): Decision<RenderAction> {
  if ('gap' in view) return { actions: [], missing: view.gap };
  const actions = view.pools.flatMap((pool): readonly RenderAction[] => {
    const { name, deletionTimestamp } = pool.metadata;
    if (deletionTimestamp !== undefined || operatorOfPool(name, view) !== undefined) return [];
    const about = { key: `configuration of pool ${name}`, pool, nodes: nodesOfPool(name, view) };
    const rendering = render(pool, machineConfigs, release);
    const failed = 'reason' in rendering ? rendering : { reason: '' };
    if ((reasons.get(name) ?? '') !== failed.reason) return [{ ...about, ...failed }];
    if ('reason' in rendering || isConfigured(pool, rendering)) return [];
    const { config, sources } = rendering;
    const isNew = !machineConfigs.some(({ metadata }) => metadata.name === config.metadata.name);
    return [{ ...about, config, sources, isNew }];
  });
  return { actions, missing: 'the MachineConfigs are watched' };
}

type Rendered = Extract<Rendering, { readonly config: KubeObject }>;

const isConfigured = (pool: KubeObject, { config, sources }: Rendered): boolean =>
  renderedNameOf(pool) === config.metadata.name &&
  isDeepStrictEqual(
    listAt(pool, 'spec', 'configuration', 'source').map((one) => fieldsOf(one as Value)['name']),
    sources,
  );

/** Refused when the pool has changed since: it may select something else then. */
function poolPatch({ pool, config, sources }: Configured & { readonly pool: KubeObject }): {
  readonly type: 'merge';
  readonly body: unknown;
} {
  const of = { apiVersion: 'machineconfiguration.openshift.io/v1', kind: 'MachineConfig' };
  const source = sources.map((name) => ({ ...of, name }));
  const configuration = { ...of, name: config.metadata.name, source };
  const { resourceVersion } = pool.metadata;
  return { type: 'merge', body: { metadata: { resourceVersion }, spec: { configuration } } };
}

/** Renders only what has changed: nodes report each few seconds, and a MachineConfig may have a megabyte. */
export function rememberedRendering(): Render {
  const last = new Map<string, { readonly from: string; readonly rendering: Rendering }>();
  return (pool, all, release) => {
    const { name, uid } = pool.metadata;
    const selector = partOf(pool, 'spec', 'machineConfigSelector');
    const versions = all.map(({ metadata }) => `${metadata.name}@${metadata.resourceVersion}`);
    const images = release?.metadata.resourceVersion;
    const from = JSON.stringify([uid, selector, renderedNameOf(pool), versions, images]);
    const known = last.get(name);
    if (known?.from === from) return known.rendering;
    const rendering = renderPool(pool, all, release);
    last.set(name, { from, rendering });
    return rendering;
  };
}

/** How often the images of the release are read: they change with an update, which the operator makes. */
const readReleaseEvery = seconds(30);

/** Reads the ControllerConfig of the operator, which may be of a kind that is not served: one cannot wait for it. */
export function releaseReader({
  kube,
  clock,
}: NodeControllerScope<'kube' | 'clock'>): (
  signal: AbortSignal,
) => Promise<KubeObject | undefined> {
  let last: { readonly at: Millis; readonly found: KubeObject | undefined } | undefined;
  return async (signal) => {
    if (last === undefined || clock.elapsed() - last.at >= readReleaseEvery) {
      const ref = { kind: controllerConfigs, name: controllerConfigName };
      last = { found: await kube.get(ref, signal), at: clock.elapsed() };
    }
    return last.found;
  };
}
