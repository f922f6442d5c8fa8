import { machineOSBuilds, machineOSConfigs } from '../../cluster/kinds.ts';
import { planRollback, type RollbackPlan } from '../../layering/hand-over/rollback.ts';
import { exitCodes } from '../../model/failure.ts';
import type { Kube } from '../../ports/kube.ts';
import { lookAtCluster, withCluster } from './cluster.ts';

/** What `layer rollback` is asked for. */
export interface RollbackCall {
  readonly kubeconfig: string;
  readonly pool: string;
  /** Nothing is changed without it. */
  readonly isConfirmed: boolean;
}

/**
 * Takes a pool back to the system of its release, by removing its MachineOSConfig; the cluster does the rest. Prints
 * what will happen, and resolves with 2 when it was not confirmed.
 * @throws AgentError `config.file-not-read`, `kube.*`, `layering.pool-missing`
 */
export function runLayerRollback({ kubeconfig, pool, isConfirmed }: RollbackCall): Promise<number> {
  return withCluster(kubeconfig, async (kube, signal) => {
    const plan = planRollback(pool, await lookAtCluster(kube, signal, pool));
    process.stdout.write(renderRollback(plan));
    if (!plan.removesOsConfig && plan.orphans.length === 0) return 0;
    if (!isConfirmed) {
      process.stderr.write('nothing was changed: run it again with --yes\n');
      return exitCodes.input;
    }
    await carryOut(plan, kube, signal);
    process.stdout.write(
      `done; follow it with: bootwright layer status --kubeconfig ${kubeconfig} --pool ${pool}\n`,
    );
    return 0;
  });
}

/** The MachineOSConfig goes first: a builder that still has it makes a build anew that is deleted. */
async function carryOut(plan: RollbackPlan, kube: Kube, signal: AbortSignal): Promise<void> {
  if (plan.removesOsConfig) await kube.remove({ kind: machineOSConfigs, name: plan.pool }, signal);
  for (const name of plan.orphans) await kube.remove({ kind: machineOSBuilds, name }, signal);
}

/** What a rollback will do, as people read it. */
export function renderRollback({
  pool,
  removesOsConfig,
  orphans,
  nodes,
  notes,
}: RollbackPlan): string {
  if (!removesOsConfig && orphans.length === 0) {
    return `pool ${pool} has no MachineOSConfig: there is nothing to take back\n`;
  }
  const reverts =
    nodes.length === 0
      ? 'no node runs an image of the pool: none changes'
      : `${nodes.length} nodes go back to the system of the release, one after the other, each with a drain and restarts: ${nodes.join(', ')}`;
  return [
    ...(removesOsConfig
      ? [`MachineOSConfig ${pool} is removed, and with it the builds that it owns`]
      : []),
    ...orphans.map((name) => `MachineOSBuild ${name} has no owner and is removed as well`),
    reverts,
    ...notes,
    '',
  ].join('\n');
}
