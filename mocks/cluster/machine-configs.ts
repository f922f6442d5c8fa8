// MachineConfigs of the cluster: what its pools are rendered as, and what daemons say of it on
// their nodes.
import { type ClusterPlan, type ClusterState, later, mark, type Turn } from './cluster-state.ts';
import { annotate, systemAnnotations } from './layering/node.ts';
import {
  configAnnotations,
  kinds,
  renderedAgainName,
  renderedName,
  renderedObject,
} from './objects.ts';
import { type ClusterWork, memberNamed } from './site.ts';

/** The masters agree. */
export const agreed = mark('cluster/wait-for-machine-configs');

/**
 * The pool of masters is rendered again, as it is when an operator adds a MachineConfig: one master
 * after the other is told (`maxUnavailable` is 1), and for that while they differ. Where images are
 * built the pool stays as it was.
 */
export function reconfigure(state: ClusterState, { members, pace, isLayered }: ClusterPlan): Turn {
  if (isLayered === true) return { state, actions: [] };
  const [next, ...left] = members.filter(
    ({ name, role }) =>
      role === 'master' && state.phases[name] === 'ready' && !state.reconfigured.includes(name),
  );
  if (next === undefined) return { state, actions: [] };
  const host = next.name;
  const isLast = left.length === 0;
  return {
    state: {
      ...state,
      reconfigured: [...state.reconfigured, host],
      isConfigAgreed: isLast,
    },
    actions: [
      { kind: 'desire-config', host },
      ...(isLast ? [agreed] : []),
      later(pace.reconfigureSeconds, { kind: 'reconfigured', host }),
    ],
  };
}

/** The controller of the cluster renders what the bootstrap host has rendered. */
export async function renderOnce({ kube: { client } }: ClusterWork): Promise<void> {
  for (const role of ['master', 'arbiter', 'worker'] as const)
    await client.apply(kinds.MachineConfig, renderedObject(renderedName(role)));
}

interface OnHost {
  readonly host: string;
}

/**
 * The daemon of a node says what the node was served (machine-config-operator,
 * `loadNodeAnnotations`).
 */
export async function annotateNode(work: ClusterWork, { host }: OnHost): Promise<void> {
  const { role } = memberNamed(work, host);
  const isLate = role === 'master' && work.state().reconfigured.includes(host);
  const rendered = isLate ? renderedAgainName(role) : renderedName(role);
  const annotations = (await systemAnnotations(work, host)) ?? configAnnotations(rendered);
  await work.kube.client.merge({ kind: kinds.Node, name: host }, { metadata: { annotations } });
}

/** The node controller tells a master what its pool is rendered as now; its daemon begins. */
export async function desireConfig(work: ClusterWork, { host }: OnHost): Promise<void> {
  const rendered = renderedAgainName('master');
  await work.kube.client.apply(kinds.MachineConfig, renderedObject(rendered));
  await annotate(work, host, { desiredConfig: rendered, state: 'Working' });
}

/** The daemon of a master is done. */
export const reachConfig = (work: ClusterWork, { host }: OnHost): Promise<void> =>
  annotate(work, host, { currentConfig: renderedAgainName('master'), state: 'Done' });
