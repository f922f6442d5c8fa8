import { type Scope, stepsOf } from '../../engine/step.ts';
import type { Ports } from '../../ports/ports.ts';

/** What the agent of a node works on. */
export interface NodeAgentWorld {
  readonly config: {
    /** Name of the node that it runs on. */
    readonly nodeName: string;
  };
  readonly ports: Pick<Ports, 'kube' | 'host' | 'clock'>;
}

/** Defines a step of the agent. */
export const nodeAgentStep = stepsOf<NodeAgentWorld>();

/** What a step of the agent has at hand. */
export type NodeAgentScope = Scope<NodeAgentWorld, 'kube' | 'host' | 'clock'>;
