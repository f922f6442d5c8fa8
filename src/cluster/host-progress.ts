import { type Stage, stages } from '../model/stage.ts';
import type { InventoryHost } from '../ports/inventory.ts';

/** Progress of a host in the cluster. */
export interface HostSigns {
  /** Its node: missing, present, or Ready. */
  readonly node: 'none' | 'joined' | 'ready';
  /** The host has requested its Ignition from the config server of the cluster. */
  readonly hasAskedIgnition: boolean;
}

/** The last report of a host that the service has answered. */
export interface AnsweredReport {
  readonly stage: Stage;
  /**
   * The service's record of the host when it refused the report; undefined for an accepted report.
   */
  readonly refusedAt?: string;
}

/**
 * The service's record of a host, as one text: the service accepts a refused report only after its
 * record has changed.
 */
export const recordOf = ({ status, stage = '' }: InventoryHost): string => `${status}|${stage}`;

const positionOf = (stage: string | undefined): number => stages.findIndex((one) => one === stage);

/** Statuses of hosts whose stage is final. */
const ended: ReadonlySet<string> = new Set(['installed', 'error', 'disabled']);

/** Whether a host is on its way into the cluster. */
export const isUnderWay = ({ status }: InventoryHost): boolean => !ended.has(status);

/**
 * The stage to report of a host next, or undefined. It is never a stage that the service already
 * has or has answered. A host whose node is Ready at once is Joined first, as in
 * assisted-installer-controller.
 */
export function nextStage(
  host: InventoryHost,
  { node, hasAskedIgnition }: HostSigns,
  answered?: AnsweredReport,
): Stage | undefined {
  if (!isUnderWay(host)) return undefined;
  const isOld = answered?.refusedAt !== undefined && answered.refusedAt !== recordOf(host);
  const reached = Math.max(positionOf(host.stage), isOld ? -1 : positionOf(answered?.stage));
  const isBelow = (stage: Stage): boolean => reached < positionOf(stage);
  if (node !== 'none' && isBelow('Joined')) return 'Joined';
  if (node === 'ready') return isBelow('Done') ? 'Done' : undefined;
  return hasAskedIgnition && isBelow('Configuring') ? 'Configuring' : undefined;
}

/** Whether the log of the config server can still add anything about a host. */
export const mayAskIgnition = (host: InventoryHost, node: HostSigns['node']): boolean =>
  isUnderWay(host) && node === 'none' && positionOf(host.stage) < positionOf('Configuring');
