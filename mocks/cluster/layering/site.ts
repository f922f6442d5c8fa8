import type { Machine } from '../../host/machine.ts';
import type { LayeredPlan } from '../../layering/plan.ts';
import type { RegistryNetwork } from '../../registries/network.ts';

/** The operating system that a node runs, and what it was told to be at its first boot. */
export interface NodeSystem {
  /** The booted image, by digest. */
  readonly image: string;
  readonly kernelArguments: readonly string[];
  /** Name of the rendered MachineConfig. */
  readonly rendered: string;
  readonly currentImage: string | undefined;
  readonly desiredImage: string | undefined;
  readonly pullSecret: string;
}

/** What a cluster has around it whose operating systems are built. */
export interface LayeredSite {
  readonly plan: LayeredPlan;
  readonly network: RegistryNetwork;
  /** Hosts by name. */
  readonly machines: ReadonlyMap<string, Machine>;
  /** What hosts run that were started from their disks, by name. */
  readonly systems: Map<string, NodeSystem>;
  /** A host is started from its disk once more. */
  readonly restarted: (host: string) => void;
  /** What the controllers did that they must not have to do. */
  readonly incidents: string[];
}
