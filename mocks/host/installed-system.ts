// A host that runs from its disk as a node of a cluster: how it is started, and what rpm-ostree has staged comes up with
// its next start. What the live system had outside of /run and /tmp stays, to be looked at.
import { randomUUID } from 'node:crypto';
import { dirname } from 'node:path';
import { checksumOf } from './commands/rpm-ostree.ts';
import type { Machine } from './machine.ts';
import { mkdir, rm, writeFile } from './prompt-files.ts';

/** What a host comes up with when it is started from its disk for the first time. */
export interface FirstStart {
  /** Pull spec of the image that runs. */
  readonly image: string;
  /** Pull secret of the cluster, which the kubelet has on the node; it has none unless given. */
  readonly pullSecret?: string | undefined;
}

/** What runs on every node. */
const nodeUnits = ['NetworkManager.service', 'crio.service', 'kubelet.service'];

/**
 * Starts a host from its disk, as a node that the Machine Config Daemon has taken over; gives its boot id. From then on
 * `machine.running` says what it runs, and `machine.reboot` is there once somebody orders a reboot.
 */
export async function startFromDisk(
  machine: Machine,
  { image, pullSecret }: FirstStart,
): Promise<string> {
  machine.running = { booted: image };
  await put(machine, '/etc/machine-config-daemon/currentconfig', '{}\n');
  if (pullSecret !== undefined) await put(machine, '/var/lib/kubelet/config.json', pullSecret);
  return comeUp(machine, image);
}

/**
 * Starts such a host again: it runs what was staged, where something was. Gives its new boot id.
 * @throws Error when the host was never started from its disk
 */
export async function restartFromDisk(machine: Machine): Promise<string> {
  const { running } = machine;
  if (running === undefined) throw new Error(`${machine.name} was not started from its disk`);
  running.booted = running.staged ?? running.booted;
  running.staged = undefined;
  return comeUp(machine, running.booted);
}

async function comeUp(machine: Machine, image: string): Promise<string> {
  const { files, locks, units } = machine;
  for (const folder of ['/run', '/tmp']) {
    await rm(await files.real(folder), { recursive: true, force: true });
  }
  for (const folder of ['/run/lock', '/tmp']) {
    await mkdir(await files.real(folder), { recursive: true });
  }
  const bootId = randomUUID();
  const root = `ostree=/ostree/boot.1/rhcos/${checksumOf(image)}/0`;
  await put(machine, '/run/ostree-booted', '');
  await put(
    machine,
    '/proc/cmdline',
    `BOOT_IMAGE=/vmlinuz rw ignition.platform.id=metal ${root}\n`,
  );
  await put(machine, '/proc/sys/kernel/random/boot_id', `${bootId}\n`);
  locks.clear();
  units.reset(nodeUnits, []);
  machine.reboot = undefined;
  return bootId;
}

async function put({ files }: Machine, path: string, content: string): Promise<void> {
  const place = await files.real(path);
  await mkdir(dirname(place), { recursive: true });
  await writeFile(place, content);
}
