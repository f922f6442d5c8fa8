import type { KubeObject } from '../../ports/kube.ts';
import { annotationOf, textAt } from '../cluster-object.ts';
import { nodeKeys } from '../node-keys.ts';
import { type PodsOnNode, switchPodsOn } from './pods.ts';

/** What the nodes of a pool are to run. */
export interface SwitchTarget {
  readonly image: string;
  /** The rendered MachineConfig of the pool. */
  readonly renderedConfig: string;
}

/**
 * How a node stands to the drain controller: it was never drained for this, or is so no more; it is being drained; it
 * is; it is being given back.
 */
export type DrainStanding = 'none' | 'draining' | 'drained' | 'returning';

/** Whether a node is Ready, and if not, why. */
export type NodeReadiness =
  { readonly isReady: true } | { readonly isReady: false; readonly reason: string };

/** All that is known of a node that is to be switched. */
export interface NodeStanding extends PodsOnNode {
  readonly name: string;
  /** Another one after each start. */
  readonly bootId: string;
  readonly readiness: NodeReadiness;
  /** What its daemon says: `Done`, `Working`, `Degraded`. */
  readonly state: string;
  /** Why it is degraded. */
  readonly reason: string;
  /** Its daemon is through with the MachineConfig of the pool. */
  readonly hasConfig: boolean;
  /** Its annotations name the image. */
  readonly isTold: boolean;
  readonly drain: DrainStanding;
}

/**
 * What the drain controller is asked for (machine-config-operator, `pkg/controller/drain`). It looks at nothing else, not
 * at the pool either. The daemon asks for the way back once it finds its node as it should be.
 */
export const drainRequest = (renderedConfig: string): string => `drain-${renderedConfig}`;

/** What it is asked for to give a node back to its work. */
export const uncordonRequest = (renderedConfig: string): string => `uncordon-${renderedConfig}`;

/** The node runs, its annotations name the image, and its daemon has nothing against it. */
export const isSettled = ({ readiness, state, isTold }: NodeStanding): boolean =>
  readiness.isReady && state === 'Done' && isTold;

/** What is seen of a node; the pods are those of the switch. */
export interface NodeSight {
  readonly node: KubeObject;
  readonly readiness: NodeReadiness;
  readonly pods: readonly KubeObject[];
}

/** Reads how a node stands. */
export function nodeStanding(
  { node, readiness, pods }: NodeSight,
  target: SwitchTarget,
): NodeStanding {
  const { name } = node.metadata;
  const { image, renderedConfig } = target;
  const says = (key: keyof typeof nodeKeys): string => annotationOf(node, nodeKeys[key]);
  return {
    name,
    bootId: textAt(node, 'status', 'nodeInfo', 'bootID'),
    readiness,
    state: says('state'),
    reason: says('reason'),
    hasConfig: says('currentConfig') === renderedConfig && says('desiredConfig') === renderedConfig,
    isTold: says('currentImage') === image && says('desiredImage') === image,
    drain: drainStanding(says('desiredDrain'), says('lastAppliedDrain'), renderedConfig),
    ...switchPodsOn(name, pods),
  };
}

function drainStanding(desired: string, applied: string, renderedConfig: string): DrainStanding {
  if (desired === drainRequest(renderedConfig)) {
    return desired === applied ? 'drained' : 'draining';
  }
  return desired === applied ? 'none' : 'returning';
}
