import {
  jobs,
  machineConfigPools,
  machineConfigs,
  machineOSBuilds,
  machineOSConfigs,
  nodes,
} from '../../cluster/kinds.ts';
import { operatorNamespace } from '../../layering/manifests/bootstrap-manifests.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { planRollback, type RollbackPlan } from '../../layering/hand-over/rollback.ts';
import {
  type ClusterSnapshot,
  type NodeImageStatus,
  type PoolStatus,
  poolStatus,
} from '../../layering/hand-over/pool-status.ts';
import { repositoryConfigName } from '../../layering/served-config.ts';
import { violationText } from '../../layering/hand-over/invariants.ts';
import { exitCodes } from '../../model/failure.ts';
import type { Kube } from '../../ports/kube.ts';
import { withCluster } from '../cluster.ts';
import { print, printError, wrapped } from '../messages.ts';

/** Arguments of `layer status`. */
export interface StatusCall {
  readonly kubeconfig: string;
  /** All pools without it. */
  readonly pool?: string;
  /** `text` or `json`. */
  readonly format: string;
}

/**
 * Prints the layering of the pools of a cluster; resolves with 1 when an invariant of a layered pool is violated.
 * @throws AgentError `config.file-not-read`, `kube.*`, `layering.pool-missing`
 */
export function runLayerStatus({ kubeconfig, pool, format }: StatusCall): Promise<number> {
  return withCluster(kubeconfig, async (kube, signal) => {
    const cluster = await readCluster(kube, signal, pool);
    const pools = pool === undefined ? cluster.pools.map(({ metadata }) => metadata.name) : [pool];
    const statuses = pools.map((name) => poolStatus(name, cluster));
    print(format === 'json' ? renderPoolStatusesJson(statuses) : renderPoolStatuses(statuses));
    return statuses.some(({ violations }) => violations.length > 0) ? 1 : 0;
  });
}

/** The pools, for people. */
export const renderPoolStatuses = (statuses: readonly PoolStatus[]): string =>
  statuses.map((status) => `${linesOf(status).join('\n')}\n`).join('\n');

/** The same for programs. Fields are added in later versions, none is taken away. */
export const renderPoolStatusesJson = (statuses: readonly PoolStatus[]): string =>
  `${JSON.stringify({ pools: statuses }, undefined, 2)}\n`;

const width = 18;

const textWidth = 100;

const line = (left: string, right: string): string => `  ${left.padEnd(width)}${right}`.trimEnd();

function linesOf(status: PoolStatus): readonly string[] {
  const { pool, isLayered, isPaused, rendered, pushSpec, build, image, nodes, violations } = status;
  const title = `pool ${pool}${isPaused ? ' (paused)' : ''}`;
  const layered = nodes.filter(isOnAnImage);
  if (!isLayered && layered.length === 0) return [title, line('layered', 'no')];
  const onImage = nodes.filter((node) => isOn(node, image)).length;
  return [
    title,
    line('MachineOSConfig', isLayered ? `pushes to ${pushSpec}` : 'none'),
    line('MachineOSBuild', build.name === '' ? 'none' : `${build.name}: ${build.phase}`),
    line('image', image === '' ? 'none' : image),
    line('MachineConfig', rendered === '' ? 'not rendered' : rendered),
    line('nodes', `${onImage} of ${nodes.length} run the image`),
    ...nodes.map((node) => line(`  ${node.name}`, nodeText(node, image))),
    ...violations.map((violation) =>
      line('violation', `${violationText(violation)} (${violation.title})`),
    ),
  ];
}

const isOnAnImage = ({ currentImage, desiredImage }: NodeImageStatus): boolean =>
  currentImage !== '' || desiredImage !== '';

const isOn = ({ currentImage, desiredImage }: NodeImageStatus, image: string): boolean =>
  image !== '' && currentImage === image && desiredImage === image;

function nodeText(node: NodeImageStatus, image: string): string {
  const { state, currentImage, desiredImage } = node;
  const shown = state === '' ? 'no state' : state;
  if (isOn(node, image)) return shown;
  const named = (text: string): string => (text === '' ? 'the release' : text);
  return currentImage === desiredImage
    ? `${shown}; runs ${named(currentImage)}`
    : `${shown}; runs ${named(currentImage)}, desired: ${named(desiredImage)}`;
}

/** Arguments of `layer rollback`. */
export interface RollbackCall {
  readonly kubeconfig: string;
  readonly pool: string;
  /** Nothing is changed without it. */
  readonly yes: boolean;
}

/**
 * Returns a pool to the OS of its release by deleting its MachineOSConfig; the cluster does the rest. Prints what will
 * happen, and resolves with 2 without `--yes`.
 * @throws AgentError `config.file-not-read`, `kube.*`, `layering.pool-missing`
 */
export function runLayerRollback({ kubeconfig, pool, yes }: RollbackCall): Promise<number> {
  return withCluster(kubeconfig, async (kube, signal) => {
    const cluster = await readCluster(kube, signal, pool);
    const name = repositoryConfigName(pool);
    const config = await kube.get({ kind: machineConfigs, name }, signal);
    const plan = planRollback(pool, cluster, config === undefined ? [] : [name]);
    print(renderRollback(plan));
    if (isEmpty(plan)) return 0;
    if (!yes) {
      printError('nothing was changed: run it again with --yes\n');
      return exitCodes.input;
    }
    await carryOut(plan, kube, signal);
    print(
      `done; follow the rollout with: bootwright layer status --kubeconfig ${kubeconfig} --pool ${pool}\n`,
    );
    return 0;
  });
}

const isEmpty = ({ removesOsConfig, orphans, repositoryConfig }: RollbackPlan): boolean =>
  !removesOsConfig && orphans.length === 0 && repositoryConfig === undefined;

/**
 * The MachineOSConfig goes first: a builder that still has it makes a deleted build again. The operator waits five
 * seconds before it acts, so that nodes get both changes at once.
 */
async function carryOut(plan: RollbackPlan, kube: Kube, signal: AbortSignal): Promise<void> {
  if (plan.removesOsConfig) await kube.remove({ kind: machineOSConfigs, name: plan.pool }, signal);
  if (plan.repositoryConfig !== undefined) {
    await kube.remove({ kind: machineConfigs, name: plan.repositoryConfig }, signal);
  }
  for (const name of plan.orphans) await kube.remove({ kind: machineOSBuilds, name }, signal);
}

/** What a rollback will do, for people. */
export function renderRollback(plan: RollbackPlan): string {
  const { pool, removesOsConfig, orphans, repositoryConfig, nodes, notes } = plan;
  if (isEmpty(plan)) {
    return `pool ${pool} has no MachineOSConfig: nothing to roll back\n`;
  }
  const reverts =
    nodes.length === 0
      ? ['no node runs an image of the pool: no node changes']
      : [
          `${nodes.length} nodes return to the OS of the release, one after the other, each with a drain and reboots:`,
          ...wrapped(nodes.join(', '), textWidth - 2).map((line) => `  ${line}`),
        ];
  return [
    ...(removesOsConfig
      ? [`MachineOSConfig ${pool} is deleted, with the MachineOSBuilds that it owns`]
      : []),
    ...orphans.map((name) => `MachineOSBuild ${name} has no owner and is deleted too`),
    ...(repositoryConfig === undefined
      ? []
      : [`MachineConfig ${repositoryConfig} is deleted, which leads new nodes to the image`]),
    ...reverts,
    ...notes.flatMap((note) => wrapped(note, textWidth)),
    '',
  ].join('\n');
}

/**
 * Reads all that the cluster has about layering.
 * @throws AgentError `kube.*`, `layering.pool-missing` where there is no pool of the name
 */
async function readCluster(
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
