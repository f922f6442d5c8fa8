import { stepsOf, type Scope } from '../../engine/step.ts';
import type { KernelArgumentChange } from '../../os/driver.ts';
import type { Ports } from '../../ports/ports.ts';

/** What a node is asked to do; there is no installation behind it, and so none of its settings. */
export interface NodeOrder {
  /** Name of the image to move to; empty for a rollback. */
  readonly image: string;
  readonly kernelArguments: KernelArgumentChange;
  /** Write the image down for the Machine Config Daemon. */
  readonly records: boolean;
  /** Restart the host at the end. */
  readonly reboots: boolean;
}

/** What the steps of the node commands work on. */
export interface NodeCommandWorld {
  readonly config: NodeOrder;
  readonly ports: Pick<Ports, 'host' | 'clock'>;
}

/** Defines a step of a command of a node. */
export const step = stepsOf<NodeCommandWorld>();

/** What a step of a command of a node has at hand. */
export type NodeScope = Scope<NodeCommandWorld, 'host'>;
