// The first start of a node from its disk: which system it comes up with, and whether it has to start once more.
import { ignitionOnDisk, startFromDisk, systemOnDisk } from '../../host/installed-system.ts';
import {
  type FirstBootConfig,
  readFirstBootConfig,
  readPointerOnDisk,
} from '../../layering/served-config.ts';
import { credentialsIn, type RegistryNetwork, registryOf } from '../../registries/network.ts';
import type { ClusterWork } from '../site.ts';
import { serveConfig } from './config-server.ts';
import { type LayeredSite, machineOf, type NodeSystem } from './site.ts';

/** The system with which a first boot ends. */
interface FirstBoot {
  readonly image: string;
  /** The disk had another one, which gave way to it by a reboot (machine-config-daemon-firstboot). */
  readonly pivots: boolean;
}

/** What the first boot of a disk ends in. */
export const firstBootOf = (
  disk: string | undefined,
  { osImage }: Pick<FirstBootConfig, 'osImage'>,
): FirstBoot => ({ image: osImage, pivots: disk !== osImage });

/** Lets a host configure itself; whether it had to start twice. */
export async function bootFirst(
  work: ClusterWork,
  layered: LayeredSite,
  host: string,
): Promise<boolean> {
  const machine = machineOf(layered, host);
  const pointer = readPointerOnDisk(await ignitionOnDisk(machine));
  const text = pointer.kind === 'embedded' ? pointer.config : await serveConfig(work, pointer.pool);
  if (text === undefined) throw new Error(`${host} is served no config`);
  const config = readFirstBootConfig(text);
  const disk = systemOnDisk(machine);
  const { image, pivots } = firstBootOf(disk.image, config);
  if (pivots) pullOnNode(layered.network, { host, image, pullSecret: config.pullSecret });
  const { rendered, currentImage, desiredImage, pullSecret } = config;
  // The daemon sets the kernel arguments of the MachineConfig together with the system.
  const kernelArguments = pivots ? config.kernelArguments : disk.kernelArguments;
  const system: NodeSystem = {
    ...{ image, kernelArguments, rendered, currentImage, desiredImage, pullSecret },
  };
  layered.systems.set(host, system);
  if (pivots) layered.restarted(host);
  work.bootIds.renew(host, await startFromDisk(machine, { image, pullSecret }));
  layered.power(host, true);
  return pivots;
}

/**
 * Pulls an image as a node does.
 * @throws Error when the registry refuses
 */
export function pullOnNode(
  network: RegistryNetwork,
  {
    host,
    image,
    pullSecret,
  }: { readonly host: string; readonly image: string; readonly pullSecret: string },
): void {
  const credentials = credentialsIn(pullSecret, registryOf(image));
  const trouble = network.reach({ by: host, verb: 'pull', image, credentials });
  if (trouble !== undefined) throw new Error(`node ${host} cannot pull ${image}: ${trouble}`);
}
