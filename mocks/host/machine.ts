import { z } from 'zod';
import type { Devices } from './devices.ts';
import type { HostFiles } from './files.ts';
import type { Firmware } from './firmware.ts';
import type { HostImages } from './images.ts';
import type { Units } from './units.ts';

/** The record of a command on a simulated host. */
export interface RanCommand {
  readonly argv: readonly string[];
  /** Names of its environment variables. */
  readonly env: readonly string[];
  readonly at: number;
  /** Undefined while it runs and after a stop. */
  exitCode?: number;
}

/** A system that coreos-installer has written to a disk. */
interface InstalledSystem {
  /** Kernel name of the disk. */
  readonly disk: string;
  readonly ignition: string;
  /** Arguments between `install` and the device. */
  readonly writerArgs: readonly string[];
}

/** A system that ostree has deployed to a stateroot. */
interface Deployment {
  /** The source of the pull, with the scheme of ostree. */
  readonly image: string;
  /** The image that it follows from then on, without a scheme. */
  readonly origin: string;
  kernelArguments: readonly string[];
  /** It is finalized, not only staged. */
  isFinal: boolean;
}

/** A system that a host booted from its disk, and its later changes by rpm-ostree. */
export interface RunningSystem {
  /** Pull spec of the running image. */
  booted: string;
  /** The kernel arguments of its boot entry as given, without the argument of its root. */
  kernelArguments: readonly string[];
  /** The next deployment; undefined if it is the running one. */
  staged?: { readonly image: string; readonly kernelArguments: readonly string[] } | undefined;
}

/** Properties of the live system of a host at each start, in a scenario. */
export const liveFields = {
  firmware: z.enum(['uefi', 'bios']).default('uefi'),
  /** Units that run in addition to the usual ones; `ironic-agent.service` for a host of Ironic. */
  units: z.array(z.string()).default([]),
  /** `oc` is in the live system; otherwise the units of the node image unpack it. */
  hasOc: z.boolean().default(true),
  /** Run time of each unit of the node image. */
  nodeImageSeconds: z.number().min(0).default(0.5),
  /** Registry data on the live medium, as an appliance carries it; none when 0. */
  registryKibibytes: z.int().min(0).default(0),
};

/** The live system of a host. */
export interface LiveSystem extends z.infer<z.ZodObject<typeof liveFields>> {
  /** Name that the host has from DHCP or the discovery image. */
  readonly hostname: string;
  /** Files of its medium in addition to the usual ones, by path from the root. */
  readonly files: Readonly<Record<string, string>>;
}

/** A network of a simulated host, separate from the network of the lab. */
export interface HostNetwork {
  /** The command prefix that runs a program in it. */
  readonly enter: readonly string[];
}

/** The state of a simulated host; programs read and change it. */
export interface Machine {
  readonly name: string;
  readonly live: LiveSystem;
  /** The kernel's host name. */
  hostname: string;
  readonly addresses: readonly string[];
  readonly devices: Devices;
  readonly firmware: Firmware;
  readonly files: HostFiles;
  readonly writer: WriterSettings;
  /** Every command since the creation of the host. */
  readonly ran: RanCommand[];
  /** Commands without a stand-in; a test expects none. */
  readonly unknown: string[];
  /** The journal, oldest entry first; the kernel's entries have the unit `kernel`. */
  readonly journal: { readonly at: number; readonly unit: string; readonly text: string }[];
  /** Names of the held locks. */
  readonly locks: Set<string>;
  readonly units: Units;
  /** UUIDs of the file systems whose files are in the folders of partitions, by kernel name. */
  readonly stores: Map<string, string>;
  readonly images: HostImages;
  /** A network of its own; without it the network of the lab, which needs no proxy. */
  network?: HostNetwork | undefined;
  /** By stateroot. */
  readonly deployments: Map<string, Deployment>;
  readonly selinux: { isEnforcing: boolean };
  /** UUIDs of the frozen file systems; an unmounted one stays frozen, as in Linux. */
  readonly frozen: Set<string>;
  installed?: InstalledSystem | undefined;
  /** The system that the host booted from its disk; undefined in the live system. */
  running?: RunningSystem | undefined;
  /** The ordered reboot; `when` is the argument of `shutdown`. */
  reboot?: { readonly when: string; readonly message: string } | undefined;
}

/** Settings of the image writer of a simulated host. */
export const WriterSettings = z.strictObject({
  /** Duration of a write. */
  seconds: z.number().positive().default(6),
  /** Size of the image that is read. */
  mebibytes: z.number().positive().default(1127),
  /** Time between two lines; the real tool prints at most one per second. */
  lineMillis: z.int().positive().default(250),
  /** Time without output after 100 %, while the disk writes the content of the cache. */
  flushSeconds: z.number().min(0).default(0.4),
  /** Percentages at which writes fail, one per write; later writes succeed. */
  failsAtPercent: z.array(z.number().min(0).max(100)).default([]),
});
export type WriterSettings = z.infer<typeof WriterSettings>;
