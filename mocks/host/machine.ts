import { z } from 'zod';
import type { Devices } from './devices.ts';
import type { HostFiles } from './files.ts';
import type { Firmware } from './firmware.ts';
import type { HostImages } from './images.ts';
import type { Units } from './units.ts';

/** A command as a simulated host remembers it. */
export interface RanCommand {
  readonly argv: readonly string[];
  /** Names of the variables it was given. */
  readonly env: readonly string[];
  readonly at: number;
  /** Undefined while it runs and when it was stopped. */
  exitCode?: number;
}

/** A system that coreos-installer has put on a disk. */
interface InstalledSystem {
  /** Kernel name of the disk. */
  readonly disk: string;
  readonly ignition: string;
  /** Arguments between `install` and the device. */
  readonly writerArgs: readonly string[];
}

/** A system that ostree has put into a stateroot. */
interface Deployment {
  /** Where it was pulled from, with the scheme of ostree. */
  readonly image: string;
  /** What it follows from then on, without a scheme. */
  readonly origin: string;
  kernelArguments: readonly string[];
  /** It is no longer staged only. */
  isFinal: boolean;
}

/**
 * A system that a host was started into from its disk, and what rpm-ostree has made of it since.
 */
export interface RunningSystem {
  /** Pull spec of the image that runs. */
  booted: string;
  /** What its boot loader entry has, as it was given, but for where its root is. */
  kernelArguments: readonly string[];
  /** What the next start brings up; undefined when that is what runs. */
  staged?: { readonly image: string; readonly kernelArguments: readonly string[] } | undefined;
}

/** What the live system of a host is like each time it starts, as a scenario says it. */
export const liveFields = {
  firmware: z.enum(['uefi', 'bios']).default('uefi'),
  /** Units that run beside the usual ones; `ironic-agent.service` for a host of Ironic. */
  units: z.array(z.string()).default([]),
  /** `oc` is in the live system; else the units of the node image bring it. */
  hasOc: z.boolean().default(true),
  /** How long each unit of the node image takes. */
  nodeImageSeconds: z.number().min(0).default(0.5),
  /** Registry data on the live medium, as an appliance carries it; none when 0. */
  registryKibibytes: z.int().min(0).default(0),
};

/** The live system of a host. */
export interface LiveSystem extends z.infer<z.ZodObject<typeof liveFields>> {
  /** Name that DHCP or the discovery image gave the host. */
  readonly hostname: string;
  /** Files that its medium brings beside the usual ones, by path from the root. */
  readonly files: Readonly<Record<string, string>>;
}

/** A network of a simulated host, apart from that of the lab. */
export interface HostNetwork {
  /** Words that run a program in it. */
  readonly enter: readonly string[];
}

/** What a simulated host is made of; programs read and change it. */
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
  /** Every command since the host was made. */
  readonly ran: RanCommand[];
  /** Commands that no stand-in knows; a test wants none. */
  readonly unknown: string[];
  /** Names of locks that are held. */
  readonly locks: Set<string>;
  readonly units: Units;
  /** UUIDs of the file systems whose files lie in the folders of partitions, by kernel name. */
  readonly stores: Map<string, string>;
  readonly images: HostImages;
  /** A network of its own; without it that of the lab, which no proxy is needed for. */
  network?: HostNetwork | undefined;
  /** By stateroot. */
  readonly deployments: Map<string, Deployment>;
  readonly selinux: { isEnforcing: boolean };
  /**
   * UUIDs of the file systems that are frozen; one that is unmounted stays frozen, as Linux has it.
   */
  readonly frozen: Set<string>;
  installed?: InstalledSystem | undefined;
  /** What the host runs since it was started from its disk; undefined in the live system. */
  running?: RunningSystem | undefined;
  /** The reboot that was ordered; `when` as it was given to `shutdown`. */
  reboot?: { readonly when: string; readonly message: string } | undefined;
}

/** How the image writer of a simulated host behaves. */
export const WriterSettings = z.strictObject({
  /** How long a write takes. */
  seconds: z.number().positive().default(6),
  /** Size of the image as it is read. */
  mebibytes: z.number().positive().default(1127),
  /** Time between two lines; the real tool prints one per second at most. */
  lineMillis: z.int().positive().default(250),
  /** Silence after 100 %, when the disk takes what the memory still holds. */
  flushSeconds: z.number().min(0).default(0.4),
  /** Writes that fail at this percentage, one after the other; later ones succeed. */
  failsAtPercent: z.array(z.number().min(0).max(100)).default([]),
});
export type WriterSettings = z.infer<typeof WriterSettings>;
