import type { Note, Progress } from '../../engine/events.ts';
import type { KernelArgumentChange } from '../../os/kernel-arguments.ts';
import type { OsStatus } from '../../os/status.ts';
import type { Ports } from '../../ports/ports.ts';

/** What a node is asked to do; there is no installation behind it, and so none of its settings. */
export interface NodeRequest {
  /** Name of the image to move to; empty for a rollback. */
  readonly image: string;
  readonly kernelArguments: KernelArgumentChange;
  /** Write the image down for the Machine Config Daemon. */
  readonly records: boolean;
  /** Restart the host at the end. */
  readonly reboots: boolean;
}

/** What a change of a node is made with: by a command, or by the agent of the node. */
export interface CommandScope extends Pick<Ports, 'host' | 'clock'> {
  readonly signal: AbortSignal;
  readonly note: Note;
  readonly progress: (progress: Progress) => void;
  readonly config: NodeRequest;
}

/** The programs by which a node is moved to another image. */
export type DriverName = 'bootc' | 'rpm-ostree';

/** What the host runs, what it can boot, and by which program that is changed. */
export interface OsSnapshot {
  readonly driver: DriverName;
  /** Why this program. */
  readonly reason: string;
  readonly status: OsStatus;
  /** What the kernel was started with. */
  readonly commandLine: string;
}

/** What is to be done to a node. */
export interface ApplyPlan {
  /** What has to be done; nothing when the image is booted next already. */
  readonly kind: 'switch' | 'upgrade' | 'unlock' | 'restage' | 'keep' | 'nothing';
  /** Of the manifest behind the name, where the registry could be asked. */
  readonly digest?: string | undefined;
  /** Compressed bytes that the host lacks, where they are known. */
  readonly missingBytes?: number | undefined;
}
