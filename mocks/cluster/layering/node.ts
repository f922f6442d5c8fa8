// A node of a layered cluster: the system after its first boot, its daemon, its restarts, the
// record on its disk.
import { rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { writeIgnition } from '../../host/commands/machine-config-daemon.ts';
import {
  ignitionOnDisk,
  restartFromDisk,
  startFromDisk,
  systemOnDisk,
} from '../../host/installed-system.ts';
import { placeFor, textOf } from '../../host/files.ts';
import type { Machine } from '../../host/machine.ts';
import {
  type LayeredSite,
  machineOf,
  type NodeSystem,
  servesImages,
  releaseOs,
} from '../../layering/plan.ts';
import {
  type FirstBootConfig,
  readFirstBootConfig,
  readPointerOnDisk,
} from '../../layering/served-config.ts';
import { credentialsIn, type RegistryNetwork, registryOf } from '../../registries/network.ts';
import { configAnnotations, kinds } from '../objects.ts';
import { type ClusterWork, reportNode } from '../site.ts';
import { serveConfig } from './config-server.ts';
import { keyOf } from '../../layering/objects.ts';

/** The system at the end of a first boot. */
interface FirstBoot {
  readonly image: string;
  /** The disk had another system, which a reboot replaced (machine-config-daemon-firstboot). */
  readonly pivots: boolean;
}

/** The system at the end of the first boot of a disk. */
export const firstBootOf = (
  disk: string | undefined,
  { osImage }: Pick<FirstBootConfig, 'osImage'>,
): FirstBoot => ({ image: osImage, pivots: disk !== osImage });

/** Lets a host configure itself; returns whether it had to boot twice. */
async function bootFirst(work: ClusterWork, layered: LayeredSite, host: string): Promise<boolean> {
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
    image,
    kernelArguments,
    rendered,
    currentImage,
    desiredImage,
    pullSecret,
  };
  layered.systems.set(host, system);
  if (pivots) layered.restarted(host);
  writeIgnition(machine, text);
  work.bootIds.renew(host, startFromDisk(machine, { image, kernelArguments, pullSecret }));
  layered.power(host, true);
  return pivots;
}

/**
 * Pulls an image as a node does.
 * @throws Error when the registry refuses
 */
function pullOnNode(
  network: RegistryNetwork,
  {
    host,
    image,
    pullSecret,
  }: { readonly host: string; readonly image: string; readonly pullSecret: string },
): void {
  const credentials = credentialsIn(pullSecret, registryOf(image));
  const refusal = network.reach({ by: host, verb: 'pull', image, credentials });
  if (refusal !== undefined) throw new Error(`node ${host} cannot pull ${image}: ${refusal}`);
}

// The machine-config-daemon of a node: it applies the desired image.

/** The daemon's annotations about the running system; undefined where no image was built. */
export function systemAnnotations(
  { layered }: ClusterWork,
  name: string,
): Readonly<Record<string, string>> | undefined {
  const system = layered?.systems.get(name);
  if (layered === undefined || system === undefined) return undefined;
  const { rendered, currentImage, desiredImage, image } = system;
  const named = servesImages(layered.plan) ? currentImage : undefined;
  const wanted = named ?? releaseOs;
  record(machineOf(layered, name), { rendered, image: currentImage });
  return {
    ...configAnnotations(rendered),
    ...(currentImage === undefined ? {} : { [keyOf('currentImage')]: currentImage }),
    ...(desiredImage === undefined ? {} : { [keyOf('desiredImage')]: desiredImage }),
    [keyOf('state')]: image === wanted ? 'Done' : 'Degraded',
  };
}

/** A change of a node's image. */
interface NodeMove {
  readonly name: string;
  /** The desired image; empty for the system of the release. */
  readonly target: string;
}

/** Drains a node, applies an image and restarts the node. */
export async function moveNode(
  work: ClusterWork,
  layered: LayeredSite,
  { name, target }: NodeMove,
): Promise<void> {
  const before = systemOf(layered, name);
  await annotate(work, name, { state: 'Working' });
  const image = target === '' ? releaseOs : target;
  pullOnNode(layered.network, { host: name, image, pullSecret: before.pullSecret });
  const machine = machineOf(layered, name);
  const { kernelArguments } = machine.running ?? before;
  machine.running = { booted: before.image, kernelArguments, staged: { image, kernelArguments } };
  const running = target === '' ? undefined : target;
  const system = { ...before, image, currentImage: running, desiredImage: running };
  await restartNode(work, layered, { name, system });
  record(machine, { rendered: before.rendered, image: running });
  await reportNode(work, name, true);
  await annotate(work, name, { currentImage: running ?? null, state: 'Done' });
}

function systemOf({ systems }: LayeredSite, host: string): NodeSystem {
  const found = systems.get(host);
  if (found === undefined) throw new RangeError(`${host} runs nothing`);
  return found;
}

/** Writes annotations of the Machine Config Operator on a node; null removes one. */
export async function annotate(
  { kube: { client } }: ClusterWork,
  name: string,
  annotations: Readonly<Record<string, string | null>>,
): Promise<void> {
  const keyed = Object.entries(annotations).map(([key, value]) => [keyOf(key), value] as const);
  const change = { metadata: { annotations: Object.fromEntries(keyed) } };
  await client.merge({ kind: kinds.Node, name }, change);
}

// A node whose host goes down and starts from its disk.

/** Restarts a node's host with its staged image; the node is not Ready yet. */
async function restartNode(
  work: ClusterWork,
  layered: LayeredSite,
  { name, system }: { readonly name: string; readonly system: NodeSystem },
): Promise<void> {
  work.tenants.evict(name);
  await reportNode(work, name, false);
  layered.restarted(name);
  await sleep(work.plan.pace.bootSeconds * 1000, undefined, { signal: work.signal });
  layered.systems.set(name, system);
  work.bootIds.renew(name, restartFromDisk(machineOf(layered, name)));
}

// Folder of the Machine Config Daemon on the disk of its node.

const folder = '/etc/machine-config-daemon';
const currentImage = `${folder}/currentimage`;

type OnDisk = Pick<Machine, 'files'>;

/** Records the state of a node on its disk; without an image the image file does not exist. */
function record(
  { files }: OnDisk,
  { rendered, image }: { readonly rendered: string; readonly image: string | undefined },
): void {
  const config = JSON.stringify({ metadata: { name: rendered } });
  writeFileSync(placeFor(files, `${folder}/currentconfig`), config);
  const place = files.real(currentImage);
  if (image === undefined) rmSync(place, { force: true });
  else writeFileSync(place, image);
}

/** The image that the disk of a node records; empty without one. */
export const recordedOn = ({ files }: OnDisk): string => textOf(files, currentImage) ?? '';

/** Starts a host with its served config, once or twice. */
export async function firstBoot(
  work: ClusterWork,
  layered: LayeredSite,
  host: string,
): Promise<void> {
  const pivots = await bootFirst(work, layered, host);
  work.emit({ kind: 'configuring', host, pivots });
}
