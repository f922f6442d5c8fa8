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
  /** Switches a host on or off; nothing runs on one that is off. */
  readonly power: (host: string, isOn: boolean) => void;
  /** What the controllers did that they must not have to do. */
  readonly incidents: string[];
}

/**
 * The machine of a host.
 * @throws RangeError when there is none of this name
 */
export function machineOf({ machines }: Pick<LayeredSite, 'machines'>, host: string): Machine {
  const found = machines.get(host);
  if (found === undefined) throw new RangeError(`there is no machine ${host}`);
  return found;
}
