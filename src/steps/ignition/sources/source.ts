import type { Config } from '../../../config/schema.ts';
import type { RoleName } from '../../../model/role.ts';
import type { Download } from '../../../ports/inventory.ts';
import type { Ports } from '../../../ports/ports.ts';

/** The ports that sources of Ignition use. */
export type IgnitionPorts = Pick<Ports, 'host' | 'inventory' | 'objects' | 'web'>;

/** What is wanted of a source. */
export interface IgnitionRequest {
  /** The role the host will have: never `bootstrap`, that host becomes a master. */
  readonly role: RoleName;
  readonly signal: AbortSignal;
}

/**
 * One place where the Ignition of a host can come from. It opens the download; what comes is checked
 * by whoever asked.
 */
export type IgnitionSource = (
  ports: IgnitionPorts,
  config: Config,
  request: IgnitionRequest,
) => Promise<Download>;
