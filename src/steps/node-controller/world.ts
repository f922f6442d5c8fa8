import { type Scope, stepsOf } from '../../engine/step.ts';
import type { Ports } from '../../ports/ports.ts';

/** What the controller of nodes works on: the cluster, and nothing else. */
export interface NodeControllerWorld {
  readonly config: {
    /** Its own namespace, which is that of the Machine Config Operator. */
    readonly namespace: string;
  };
  readonly ports: Pick<Ports, 'kube' | 'clock' | 'random'>;
}

/** Defines a step of the controller of nodes. */
export const nodeControllerStep = stepsOf<NodeControllerWorld>();

/** What a step of the controller of nodes has at hand. */
export type NodeControllerScope<Uses extends keyof NodeControllerWorld['ports']> = Scope<
  NodeControllerWorld,
  Uses
>;
