import type { Note, Progress } from '../../engine/events.ts';
import type { KernelArgumentChange } from '../../os/kernel-arguments.ts';
import type { OsStatus } from '../../os/status.ts';
import type { Ports } from '../../ports/ports.ts';

/** A request to a node. It has no installation, and none of its settings. */
export interface NodeRequest {
  /** Name of the image to switch to; empty for a rollback. */
  readonly image: string;
  readonly kernelArguments: KernelArgumentChange;
  /** Record the image for the Machine Config Daemon. */
  readonly records: boolean;
  /** Restart the host at the end. */
  readonly reboots: boolean;
}

/** Ports and settings for a change of a node: by a command, or by the agent of the node. */
export interface CommandScope extends Pick<Ports, 'host' | 'clock'> {
  readonly signal: AbortSignal;
  readonly note: Note;
  readonly progress: (progress: Progress) => void;
  readonly config: NodeRequest;
}

/** The programs that switch a node to another image. */
export type DriverName = 'bootc' | 'rpm-ostree';

/** The running system, the bootable ones, and the program that changes them. */
export interface OsSnapshot {
  readonly driver: DriverName;
  /** The reason for this program. */
  readonly reason: string;
  readonly status: OsStatus;
  /** The command line of the running kernel. */
  readonly commandLine: string;
}

/** The planned action on a node. */
export interface ApplyPlan {
  /** The action; `nothing` if the image is booted next already. */
  readonly kind: 'switch' | 'upgrade' | 'unlock' | 'restage' | 'keep' | 'nothing';
  /** Digest of the manifest behind the name, if the registry could be asked. */
  readonly digest?: string | undefined;
  /** Compressed bytes that the host lacks, if known. */
  readonly missingBytes?: number | undefined;
}
