import * as z from 'zod';
import { type Fields, isFields } from '../../lib/fields.ts';
import { jsonIn } from '../../lib/json.ts';
import type { OsStatus } from '../../os/status.ts';
import type { Host } from '../../ports/host.ts';

/** What a node is to have: a MachineConfig by its name, and a built image where there is one. */
const Target = z.object({ config: z.string(), image: z.string().optional() });
export type Target = z.infer<typeof Target>;

/**
 * A change that was begun, as the host keeps it over a reboot. What a newer agent wrote otherwise
 * counts as the beginning.
 */
const Marker = Target.extend({
  /** `staging`: what boots next may be ours; `staged`: it is; `rebooting`: files may be written. */
  phase: z.enum(['staging', 'staged', 'rebooting']).catch('staging'),
  /** The boot in which it was written. */
  bootId: z.string().catch(''),
  /** How often the host was asked to reboot for it. */
  boots: z.number().catch(0),
  /** What was staged for it; nothing for a change of files alone. */
  stages: z.string().optional().catch(undefined),
  /** The kernel arguments of both MachineConfigs that the host has with what was staged. */
  arguments: z.array(z.string()).readonly().optional().catch(undefined),
  /**
   * The MachineConfig whose files may be written: one that goes with its pool is taken back by
   * this.
   */
  object: z
    .custom<Fields>((value) => isFields(value))
    .optional()
    .catch(undefined),
  /** Somebody has uncordoned the node after its drain: that counts no longer. */
  isUncordoned: z.boolean().optional().catch(undefined),
  /** Why it is not tried again. */
  failed: z.string().optional().catch(undefined),
});
export type Marker = z.infer<typeof Marker>;

const path = '/var/lib/bootwright-node-agent.json';

/**
 * The change that was begun; one that cannot be read counts as none, as every part may be repeated.
 */
export async function readMarker(host: Host, signal: AbortSignal): Promise<Marker | undefined> {
  return Marker.safeParse(jsonIn((await host.readText(path, signal)) ?? '')).data;
}

/** Keeps the change that is begun. */
export async function writeMarker(host: Host, marker: Marker, signal: AbortSignal): Promise<void> {
  await host.writeFile(path, JSON.stringify(marker), { signal, mode: 0o600 });
}

/** Forgets the change that was begun. */
export const removeMarker = (host: Host, signal: AbortSignal): Promise<void> =>
  host.remove(path, signal);

/** Whether two targets are the same, name by name. */
export const isSame = (one: Target, other: Target): boolean =>
  one.config === other.config && one.image === other.image;

/** A power cut on the way down loses what was staged; more than these reboots are no accident. */
const mostBoots = 3;

/**
 * Says what became of a host that was rebooted for an image. An image that is deployed and did not
 * boot is refused; one that is not deployed was lost on the way down.
 */
export function arrivalOf(
  status: OsStatus,
  image: string,
  boots: number,
): 'arrived' | 'again' | 'refused' {
  if (status.booted?.image === image) return 'arrived';
  const { pending, rollback, others } = status;
  const isDeployed = [pending, rollback, ...others].some((one) => one?.image === image);
  return isDeployed || boots >= mostBoots ? 'refused' : 'again';
}

/** Whether another reboot may help. */
export const mayReboot = (boots: number): boolean => boots < mostBoots;
