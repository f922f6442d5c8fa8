import type { ClusterWork } from '../site.ts';
import type { SeenNode } from './record.ts';

/** Runs `bootwright layer status` as a cluster administrator; returns its output. */
export async function layerStatus({ kube, startJob, signal }: ClusterWork): Promise<string> {
  const program = await startJob({
    name: 'layer-status',
    podId: 'none',
    args: ['layer', 'status'],
    env: {},
    signal,
    kubeconfig: await kube.kubeconfigFor({}),
  });
  await program.ended;
  return program.log();
}

/**
 * Facts that the output lacks about a pool whose node `held` has a blocked drain, and whose other
 * nodes wait for it.
 */
export function unexplained(
  text: string,
  held: string,
  nodes: readonly Pick<SeenNode, 'name' | 'pool'>[],
): readonly string[] {
  const pool = nodes.find(({ name }) => name === held)?.pool;
  const others = nodes.filter((node) => node.pool === pool && node.name !== held);
  // The command wraps lines at the width of the terminal.
  const line = text.replaceAll(/\s+/g, ' ');
  const wanted = [
    'run by bootwright node controller',
    `${held} Working; drain blocked: pod shop/shop-\\S+ by budget shop/shop`,
    ...others.map(({ name }) => `${name} Done; waits: maxUnavailable 1: first ${held}`),
    `let ${held} be drained: run more replicas of what the budget protects`,
  ];
  return wanted
    .filter((pattern) => !new RegExp(pattern).test(line))
    .map((pattern) => `layer status does not say: ${pattern}`);
}
