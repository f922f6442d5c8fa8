import { type Scope, stepsOf } from '../../engine/step.ts';
import { driverNames } from '../../os/choose-driver.ts';
import type { KernelArgumentChange } from '../../os/kernel-arguments.ts';
import type { Ports } from '../../ports/ports.ts';
import * as z from 'zod';
import { fact } from '../../engine/fact.ts';
import { OsStatus } from '../../os/status.ts';

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

/** What the steps of the node commands work on. */
export interface NodeCommandWorld {
  readonly config: NodeRequest;
  readonly ports: Pick<Ports, 'host' | 'clock'>;
}

/** Defines a step of a command of a node. */
export const nodeStep = stepsOf<NodeCommandWorld>();

/** What a step of a command of a node has at hand. */
export type NodeScope = Scope<NodeCommandWorld, 'host' | 'clock'>;

/** What the commands of a change are run with: by a step of a role, or by the agent of a node. */
export type CommandScope = Pick<
  NodeScope,
  'host' | 'clock' | 'signal' | 'note' | 'progress' | 'config'
>;

const OsSnapshotSchema = z.object({
  driver: z.enum(driverNames),
  /** Why this program. */
  reason: z.string(),
  status: OsStatus,
  /** What the kernel was started with. */
  commandLine: z.string(),
});

/** What the host runs, what it can boot, and by which program that is changed. */
export const OsSnapshot = fact('os.sight', OsSnapshotSchema);
export type OsSnapshot = z.infer<typeof OsSnapshotSchema>;

const ApplyPlanSchema = z.object({
  /** What has to be done; nothing when the image is booted next already. */
  kind: z.enum(['switch', 'upgrade', 'unlock', 'restage', 'keep', 'nothing']),
  /** Of the manifest behind the name, where the registry could be asked. */
  digest: z.string().optional(),
  /** Compressed bytes that the host lacks, where they are known. */
  missingBytes: z.number().optional(),
});

/** What is to be done to a node. */
export const ApplyPlan = fact('os.plan', ApplyPlanSchema);
export type ApplyPlan = z.infer<typeof ApplyPlanSchema>;

const RollbackSchema = z.object({
  kind: z.enum(['drop-staged', 'swap', 'queued']),
  /** Checksum of what is to be booted next. */
  checksum: z.string(),
});

/** How a node goes back. */
export const Rollback = fact('os.going-back', RollbackSchema);
export type Rollback = z.infer<typeof RollbackSchema>;

const NextBootSchema = z.object({
  /** Checksum of what is booted next. */
  checksum: z.string(),
  /** It is not what runs now. */
  isAnother: z.boolean(),
  /** It is put together on the way down. */
  isStaged: z.boolean(),
});

/** What the host boots next, as it was read back. */
export const NextBoot = fact('os.next-boot', NextBootSchema);
export type NextBoot = z.infer<typeof NextBootSchema>;
