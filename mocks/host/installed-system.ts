// A host that runs from its disk as a node of a cluster: its start, and the deployment that
// rpm-ostree has staged for its next start. Files of the live system outside of /run and /tmp stay,
// for inspection.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { finalStateroot } from '../../src/steps/image/deploy-final.ts';
import { rootArgument } from './commands/rpm-ostree.ts';
import { grubLine } from './kernel-arguments.ts';
import type { Machine, RunningSystem } from './machine.ts';
import { placeInPartition } from './partition-files.ts';
import { placeFor } from './files.ts';

/** The state of a host at its first start from its disk. */
interface FirstStart {
  /** Pull spec of the running image. */
  readonly image: string;
  readonly kernelArguments?: readonly string[];
  /** Pull secret of the cluster, which the kubelet has on the node; none by default. */
  readonly pullSecret?: string | undefined;
}

/** A kernel argument of every node. */
const platform = 'ignition.platform.id=metal';

/** Units that run on every node. */
const nodeUnits = ['NetworkManager.service', 'crio.service', 'kubelet.service'];

/**
 * Starts a host from its disk, as a node that the Machine Config Daemon manages; returns its boot
 * id. From then on `machine.running` is its running system, and `machine.reboot` is set by a
 * command that orders a reboot.
 */
export function startFromDisk(
  machine: Machine,
  { image, kernelArguments = [], pullSecret }: FirstStart,
): string {
  const all = kernelArguments.includes(platform) ? [] : [platform];
  machine.running = { booted: image, kernelArguments: [...all, ...kernelArguments] };
  put(machine, '/etc/machine-config-daemon/currentconfig', '{}\n');
  if (pullSecret !== undefined) put(machine, '/var/lib/kubelet/config.json', pullSecret);
  return comeUp(machine, machine.running);
}

/**
 * Starts such a host again: it runs the staged deployment, if any. Returns its new boot id.
 * @throws Error if the host was never started from its disk
 */
export function restartFromDisk(machine: Machine): string {
  const { running } = machine;
  if (running === undefined) throw new Error(`${machine.name} was not started from its disk`);
  const { image, kernelArguments } = running.staged ?? { ...running, image: running.booted };
  machine.running = { booted: image, kernelArguments };
  return comeUp(machine, machine.running);
}

function comeUp(machine: Machine, { booted, kernelArguments }: RunningSystem): string {
  const { files, locks, units } = machine;
  for (const folder of ['/run', '/tmp']) {
    rmSync(files.real(folder), { recursive: true, force: true });
  }
  for (const folder of ['/run/lock', '/tmp']) {
    mkdirSync(files.real(folder), { recursive: true });
  }
  const bootId = randomUUID();
  put(machine, '/run/ostree-booted', '');
  put(
    machine,
    '/proc/cmdline',
    `BOOT_IMAGE=/vmlinuz rw ${grubLine([...kernelArguments, rootArgument(booted)])}\n`,
  );
  put(machine, '/proc/sys/kernel/random/boot_id', `${bootId}\n`);
  locks.clear();
  units.reset(nodeUnits, []);
  machine.reboot = undefined;
  return bootId;
}

const put = ({ files }: Machine, path: string, content: string): void =>
  writeFileSync(placeFor(files, path), content);

/** The system that a machine boots. */
type Boot =
  | { readonly kind: 'installed'; readonly disk: string }
  | { readonly kind: 'live'; readonly because: string };

/**
 * Decides the system that a machine boots: UEFI takes the first bootable entry of its order, a BIOS
 * the disk. Without a bootable one the machine starts the live medium.
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

// The content of an installed disk when a machine starts from it for the first time.

/** The system on a disk before its first boot. */
interface DiskSystem {
  /** The image that the disk follows; undefined for the system of the disk image. */
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

/** The Ignition config on the boot partition, from its last writer. */
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
