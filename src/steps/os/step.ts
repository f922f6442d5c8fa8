import { type Scope, stepsOf } from '../../engine/step.ts';
import { driverNames, type KernelArgumentChange } from '../../os/driver.ts';
import type { Ports } from '../../ports/ports.ts';
import * as z from 'zod';
import { fact } from '../../engine/fact.ts';
import { OsStatus } from '../../os/status.ts';

/** What a node is asked to do; there is no installation behind it, and so none of its settings. */
export interface NodeOrder {
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
  readonly config: NodeOrder;
  readonly ports: Pick<Ports, 'host' | 'clock'>;
}

/** Defines a step of a command of a node. */
export const step = stepsOf<NodeCommandWorld>();

/** What a step of a command of a node has at hand. */
export type NodeScope = Scope<NodeCommandWorld, 'host'>;

const SightSchema = z.object({
  driver: z.enum(driverNames),
  /** Why this driver. */
  reason: z.string(),
  status: OsStatus,
  /** What the kernel was started with. */
  commandLine: z.string(),
});

/** What the host runs, what it can boot, and by which program that is changed. */
export const Sight = fact('os.sight', SightSchema);
export type Sight = z.infer<typeof SightSchema>;

const PlanSchema = z.object({
  /** What has to be done; nothing when the image is booted next already. */
  kind: z.enum(['switch', 'upgrade', 'keep', 'nothing']),
  /** Of the manifest behind the name, where the registry could be asked. */
  digest: z.string().optional(),
  /** Compressed bytes that the host lacks, where they are known. */
  missingBytes: z.number().optional(),
});

/** What is to be done to a node. */
export const Plan = fact('os.plan', PlanSchema);
export type Plan = z.infer<typeof PlanSchema>;

const GoingBackSchema = z.object({
  kind: z.enum(['drop-staged', 'swap', 'queued']),
  /** Checksum of what is to be booted next. */
  checksum: z.string(),
});

/** How a node goes back. */
export const GoingBack = fact('os.going-back', GoingBackSchema);
export type GoingBack = z.infer<typeof GoingBackSchema>;

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
