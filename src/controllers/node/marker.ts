import * as z from 'zod';
import { type Fields, isFields } from '../../lib/fields.ts';
import { jsonIn } from '../../lib/json.ts';
import type { OsStatus } from '../../os/status.ts';
import type { Host } from '../../ports/host.ts';

/** The desired state of a node: a MachineConfig by its name, and a built image if there is one. */
const Target = z.object({ config: z.string(), image: z.string().optional() });
export type Target = z.infer<typeof Target>;

/**
 * The record of a change on the host, which survives a reboot. Unknown values of a newer agent
 * count as the beginning.
 */
const Marker = Target.extend({
  /** `staging`: the next boot may be ours; `staged`: it is; `rebooting`: files may be written. */
  phase: z.enum(['staging', 'staged', 'rebooting']).catch('staging'),
  /** The boot in which the record was written. */
  bootId: z.string().catch(''),
  /** Number of reboots that were requested for the change. */
  boots: z.number().catch(0),
  /** The staged image; undefined for a change of files only. */
  stages: z.string().optional().catch(undefined),
  /** The kernel arguments of both MachineConfigs in the staged deployment. */
  arguments: z.array(z.string()).readonly().optional().catch(undefined),
  /**
   * The MachineConfig whose files may be written: if it is deleted with its pool, this copy reverts
   * it.
   */
  object: z
    .custom<Fields>((value) => isFields(value))
    .optional()
    .catch(undefined),
  /** The node was uncordoned after its drain: that drain no longer counts. */
  isUncordoned: z.boolean().optional().catch(undefined),
  /** The reason why the change is not tried again. */
  failed: z.string().optional().catch(undefined),
});
export type Marker = z.infer<typeof Marker>;

const path = '/var/lib/bootwright-node-agent.json';

/**
 * Reads the record of a change; an unreadable record counts as missing, because every part is
 * idempotent.
 */
export async function readMarker(host: Host, signal: AbortSignal): Promise<Marker | undefined> {
  return Marker.safeParse(jsonIn((await host.readText(path, signal)) ?? '')).data;
}

/** Writes the record of a change. */
export async function writeMarker(host: Host, marker: Marker, signal: AbortSignal): Promise<void> {
  await host.writeFile(path, JSON.stringify(marker), { signal, mode: 0o600 });
}

/** Removes the record of a change. */
export const removeMarker = (host: Host, signal: AbortSignal): Promise<void> =>
  host.remove(path, signal);

/**
 * A power cut during shutdown loses the staged deployment; more reboots than these are no accident.
 */
const mostBoots = 3;

/**
 * The result of a reboot into an image. A deployed image that did not boot is refused; an image
 * that is not deployed was lost during shutdown.
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
