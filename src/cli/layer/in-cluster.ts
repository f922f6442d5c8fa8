import {
  jobs,
  machineConfigPools,
  machineConfigs,
  machineOSBuilds,
  machineOSConfigs,
  nodes,
} from '../../cluster/kinds.ts';
import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import { endPause, isPaused, pausedSince } from '../../layering/api/machine-config-pool.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { planRollback, type RollbackPlan } from '../../layering/hand-over/rollback.ts';
import { type ClusterSnapshot, nodesAtRisk } from '../../layering/hand-over/pool-status.ts';
import { repositoryConfigName } from '../../layering/manifests/served-config.ts';
import { exitCodes } from '../../model/failure.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import { changePause } from '../../steps/cluster/pool-pause.ts';
import { withCluster } from '../cluster.ts';
import { print, printError, printJson, wrapped } from '../messages.ts';

/** Arguments of `layer rollback`. */
export interface RollbackCall {
  readonly kubeconfig: string;
  readonly pool: string;
  /** Nothing is changed without it. */
  readonly yes: boolean;
  /** `text`, unless it is `json`. */
  readonly format?: string;
}

/**
 * Returns a pool to the OS of its release by deleting its MachineOSConfig; the cluster does the
 * rest. Prints what will happen, and resolves with 2 without `--yes`.
 * @throws AgentError `config.file-not-read`, `kube.*`, `layering.pool-missing`
 */
export function runLayerRollback({ kubeconfig, pool, yes, format }: RollbackCall): Promise<number> {
  return withCluster(kubeconfig, async (kube, signal) => {
    const cluster = await readCluster(kube, signal, pool);
    const name = repositoryConfigName(pool);
    const config = await kube.get({ kind: machineConfigs, name }, signal);
    const plan = planRollback(pool, cluster, config === undefined ? [] : [name]);
    const show = (isChanged: boolean, text: string): void => {
      if (format === 'json') printJson({ v: 1, ...plan, isChanged });
      else print(text);
    };
    if (isEmpty(plan) || !yes || format !== 'json') show(false, renderRollback(plan));
    if (isEmpty(plan)) return 0;
    if (!yes) {
      printError('nothing was changed: run it again with --yes\n');
      return exitCodes.input;
    }
    await carryOut(plan, kube, signal);
    show(
      true,
      `done; follow the rollout with: bootwright layer status --kubeconfig ${kubeconfig} --pool ${pool}\n`,
    );
    return 0;
  });
}

const isEmpty = ({ removesOsConfig, orphans, repositoryConfig }: RollbackPlan): boolean =>
  !removesOsConfig && orphans.length === 0 && repositoryConfig === undefined;

/**
 * The MachineOSConfig goes first: a builder that still has it makes a deleted build again. The
 * operator waits five seconds before it acts, so that nodes get both changes at once.
 */
async function carryOut(plan: RollbackPlan, kube: Kube, signal: AbortSignal): Promise<void> {
  if (plan.removesOsConfig) await kube.remove({ kind: machineOSConfigs, name: plan.pool }, signal);
  if (plan.repositoryConfig !== undefined) {
    await kube.remove({ kind: machineConfigs, name: plan.repositoryConfig }, signal);
  }
  for (const name of plan.orphans) await kube.remove({ kind: machineOSBuilds, name }, signal);
}

const textWidth = 100;

const revertsOf = (nodes: readonly string[]): readonly string[] =>
  nodes.length === 0
    ? ['no node runs an image of the pool: no node changes']
    : [
        `${nodes.length} nodes return to the OS of the release, one after the other, each with a drain and reboots:`,
        ...wrapped(nodes.join(', '), textWidth - 2).map((line) => `  ${line}`),
      ];

/** What a rollback will do, for people. */
export function renderRollback(plan: RollbackPlan): string {
  const { pool, removesOsConfig, orphans, repositoryConfig, nodes, notes } = plan;
  if (isEmpty(plan)) {
    return `pool ${pool} has no MachineOSConfig: nothing to roll back\n`;
  }
  return [
    ...(removesOsConfig
      ? [`MachineOSConfig ${pool} is deleted, with the MachineOSBuilds that it owns`]
      : []),
    ...orphans.map((name) => `MachineOSBuild ${name} has no owner and is deleted too`),
    ...(repositoryConfig === undefined
      ? []
      : [`MachineConfig ${repositoryConfig} is deleted, which leads new nodes to the image`]),
    ...revertsOf(nodes),
    ...notes.flatMap((note) => wrapped(note, textWidth)),
    '',
  ].join('\n');
}

/** Arguments of `layer unpause`. */
export interface UnpauseCall {
  readonly kubeconfig: string;
  /** All pools without it. */
  readonly pool?: string;
  /** Without it no pool is unpaused whose nodes lose their image by that. */
  readonly yes: boolean;
}

/**
 * Ends the pauses that the hand-over of a stopped installation has left; those of a person stay.
 * Resolves with 2 where nothing was changed without `--yes`.
 * @throws AgentError `config.file-not-read`, `kube.*`, `layering.pool-missing`, `layering.not-kept`
 */
export function runLayerUnpause({ kubeconfig, pool, yes }: UnpauseCall): Promise<number> {
  return withCluster(kubeconfig, async (kube, signal) => {
    const cluster = await readCluster(kube, signal, pool);
    const asked = cluster.pools
      .filter(({ metadata }) => pool === undefined || metadata.name === pool)
      .map((one) => ({ name: one.metadata.name, one, since: pausedSince(one, 'handOver') }));
    const ours = asked.filter(({ since }) => since !== '');
    const risks = ours.flatMap(({ name }) => {
      const nodes = nodesAtRisk(name, cluster);
      const text = `pool ${name} has no image that was handed over`;
      return nodes.length === 0 ? [] : [text, ...revertsOf(nodes)];
    });
    for (const line of risks) print(`${line}\n`);
    if (risks.length > 0 && !yes) {
      printError('nothing was changed: run it again with --yes\n');
      return exitCodes.input;
    }
    for (const { name, since, one } of asked) {
      const due = (now: KubeObject) => endPause(now, 'handOver', since);
      const left = since === '' ? one : await changePause({ kube, signal }, name, due);
      if (isPaused(left)) print(`pool ${name} stays paused: somebody else has paused it\n`);
      else print(`pool ${name} is ${since === '' ? 'not paused' : 'unpaused'}\n`);
    }
    return 0;
  });
}

/**
 * Reads all that the cluster has about layering.
 * @throws AgentError `kube.*`, `layering.pool-missing` where there is no pool of the name
 */
export async function readCluster(
  kube: Kube,
  signal: AbortSignal,
  pool?: string,
): Promise<ClusterSnapshot> {
  const [pools, osConfigs, builds, nodesThere, jobsThere] = await Promise.all([
    kube.list({ kind: machineConfigPools }, signal),
    kube.list({ kind: machineOSConfigs }, signal),
    kube.list({ kind: machineOSBuilds }, signal),
    kube.list({ kind: nodes }, signal),
    kube.list({ kind: jobs, namespace: operatorNamespace }, signal),
  ]);
  const names = pools.map(({ metadata }) => metadata.name);
  if (names.length === 0 || (pool !== undefined && !names.includes(pool))) {
    const wanted = pool === undefined ? '' : ` ${pool}`;
    const others = names.length === 0 ? 'none' : names.join(', ');
    throw layeringFailure(
      'layering.pool-missing',
      `there is no MachineConfigPool${wanted}; the cluster has: ${others}`,
    );
  }
  return { pools, osConfigs, builds, nodes: nodesThere, jobs: jobsThere };
}
