// A host that runs from its disk as a node of a cluster: how it is started, and what rpm-ostree has
// staged comes up with its next start. What the live system had outside of /run and /tmp stays, to
// be looked at.
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { finalStateroot } from '../../src/steps/image/overwrite-argv.ts';
import { rootArgument } from './commands/rpm-ostree.ts';
import { grubLine } from './kernel-arguments.ts';
import type { Machine, RunningSystem } from './machine.ts';
import { placeInPartition } from './partition-files.ts';
import { mkdir, placeFor, rm, writeFile } from './files.ts';

/** What a host comes up with when it is started from its disk for the first time. */
interface FirstStart {
  /** Pull spec of the image that runs. */
  readonly image: string;
  readonly kernelArguments?: readonly string[];
  /** Pull secret of the cluster, which the kubelet has on the node; it has none unless given. */
  readonly pullSecret?: string | undefined;
}

/** What every node is started with. */
const platform = 'ignition.platform.id=metal';

/** What runs on every node. */
const nodeUnits = ['NetworkManager.service', 'crio.service', 'kubelet.service'];

/**
 * Starts a host from its disk, as a node that the Machine Config Daemon has taken over; gives its
 * boot id. From then on `machine.running` says what it runs, and `machine.reboot` is there once
 * somebody orders a reboot.
 */
export async function startFromDisk(
  machine: Machine,
  { image, kernelArguments = [], pullSecret }: FirstStart,
): Promise<string> {
  const all = kernelArguments.includes(platform) ? [] : [platform];
  machine.running = { booted: image, kernelArguments: [...all, ...kernelArguments] };
  await put(machine, '/etc/machine-config-daemon/currentconfig', '{}\n');
  if (pullSecret !== undefined) await put(machine, '/var/lib/kubelet/config.json', pullSecret);
  return comeUp(machine, machine.running);
}

/**
 * Starts such a host again: it runs what was staged, where something was. Gives its new boot id.
 * @throws Error when the host was never started from its disk
 */
export async function restartFromDisk(machine: Machine): Promise<string> {
  const { running } = machine;
  if (running === undefined) throw new Error(`${machine.name} was not started from its disk`);
  const { image, kernelArguments } = running.staged ?? { ...running, image: running.booted };
  machine.running = { booted: image, kernelArguments };
  return comeUp(machine, machine.running);
}

async function comeUp(
  machine: Machine,
  { booted, kernelArguments }: RunningSystem,
): Promise<string> {
  const { files, locks, units } = machine;
  for (const folder of ['/run', '/tmp']) {
    await rm(await files.real(folder), { recursive: true, force: true });
  }
  for (const folder of ['/run/lock', '/tmp']) {
    await mkdir(await files.real(folder), { recursive: true });
  }
  const bootId = randomUUID();
  await put(machine, '/run/ostree-booted', '');
  await put(
    machine,
    '/proc/cmdline',
    `BOOT_IMAGE=/vmlinuz rw ${grubLine([...kernelArguments, rootArgument(booted)])}\n`,
  );
  await put(machine, '/proc/sys/kernel/random/boot_id', `${bootId}\n`);
  locks.clear();
  units.reset(nodeUnits, []);
  machine.reboot = undefined;
  return bootId;
}

const put = async ({ files }: Machine, path: string, content: string): Promise<void> =>
  writeFile(await placeFor(files, path), content);

/** What a machine comes up with when it is started. */
type Boot =
  | { readonly kind: 'installed'; readonly disk: string }
  | { readonly kind: 'live'; readonly because: string };

/**
 * Decides what a machine starts: UEFI takes the first entry of its order that leads somewhere, a
 * BIOS the disk. Whatever leads nowhere ends at the live medium.
 */
export function decideBoot({ devices, firmware, installed }: Machine): Boot {
  if (installed === undefined) return { kind: 'live', because: 'no system is installed' };
  const disk = devices.byKname(installed.disk);
  const partitions = disk === undefined ? [] : devices.childrenOf(disk);
  if (!partitions.some(({ content }) => content?.label === 'boot')) {
    return { kind: 'live', because: `${installed.disk} holds nothing that starts` };
  }
  if (firmware.kind === 'bios') return { kind: 'installed', disk: installed.disk };
  const [first] = firmware.order.flatMap(
    (number) => firmware.entries.find((entry) => entry.number === number) ?? [],
  );
  const isOnDisk = partitions.some(({ entry }) => entry?.uuid === first?.partition?.uuid);
  return first?.partition !== undefined && isOnDisk
    ? { kind: 'installed', disk: installed.disk }
    : { kind: 'live', because: `the firmware starts "${first?.label ?? 'nothing'}" first` };
}

// What an installed disk holds when a machine starts from it for the first time.

/** What is on a disk that was never started. */
interface DiskSystem {
  /** The image that the disk follows; undefined for the system as the writer brought it. */
  readonly image: string | undefined;
  readonly kernelArguments: readonly string[];
}

/** The operating system on the disk of a machine. */
export function systemOnDisk({ deployments }: Machine): DiskSystem {
  const deployment = deployments.get(finalStateroot);
  return {
    image: deployment?.origin,
    kernelArguments: deployment?.kernelArguments ?? [],
  };
}

/** The Ignition on the boot partition, whoever wrote it there last. */
export async function ignitionOnDisk(machine: Machine): Promise<string> {
  const { devices, installed } = machine;
  if (installed === undefined) return '';
  const disk = devices.byKname(installed.disk);
  const boot = disk && devices.childrenOf(disk).find(({ entry }) => entry?.label === 'boot');
  const place = boot && placeInPartition(machine, boot.kname, 'ignition/config.ign');
  return place === undefined
    ? installed.ignition
    : readFile(place, 'utf8').catch(() => installed.ignition);
}
