// MachineConfigs of the cluster: the rendered ones of its pools, and the daemons' annotations about
// them.
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

/** The masters have the same MachineConfig. */
export const agreed = mark('cluster/wait-for-machine-configs');

/**
 * The pool of masters is rendered again, as after an operator added a MachineConfig: the masters
 * get it one after the other (`maxUnavailable` is 1), and differ meanwhile. Where images are built
 * the pool does not change.
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

/** The controller of the cluster renders the same as the bootstrap host. */
export async function renderOnce({ kube: { client } }: ClusterWork): Promise<void> {
  for (const role of ['master', 'arbiter', 'worker'] as const)
    await client.apply(kinds.MachineConfig, renderedObject(renderedName(role)));
}

interface OnHost {
  readonly host: string;
}

/**
 * The daemon of a node annotates it with the served MachineConfig (machine-config-operator,
 * `loadNodeAnnotations`).
 */
export async function annotateNode(work: ClusterWork, { host }: OnHost): Promise<void> {
  const { role } = memberNamed(work, host);
  const isLate = role === 'master' && work.state().reconfigured.includes(host);
  const rendered = isLate ? renderedAgainName(role) : renderedName(role);
  const annotations = systemAnnotations(work, host) ?? configAnnotations(rendered);
  await work.kube.client.merge({ kind: kinds.Node, name: host }, { metadata: { annotations } });
}

/** The node controller sets the newly rendered MachineConfig on a master; its daemon begins. */
export async function desireConfig(work: ClusterWork, { host }: OnHost): Promise<void> {
  const rendered = renderedAgainName('master');
  await work.kube.client.apply(kinds.MachineConfig, renderedObject(rendered));
  await annotate(work, host, { desiredConfig: rendered, state: 'Working' });
}

/** The daemon of a master has finished. */
export const reachConfig = (work: ClusterWork, { host }: OnHost): Promise<void> =>
  annotate(work, host, { currentConfig: renderedAgainName('master'), state: 'Done' });
