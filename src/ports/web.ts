import type { Download } from './inventory.ts';

/** How one address is read. */
export interface WebRequest {
  readonly signal: AbortSignal;
  /** Value of the Accept header. */
  readonly accept?: string;
  /** PEM certificates to trust beside the system's. */
  readonly ca?: string;
  /** Trust `ca` alone and use no proxy: the rule for a machine-config-server. */
  readonly caOnly?: boolean;
  /** Follow no redirect to plain http: nothing but TLS verifies what comes. */
  readonly tlsOnly?: boolean;
  /** Bytes of a larger file, `[from, to]` inclusive, by a Range header. */
  readonly range?: readonly [number, number];
}

/** Plain http(s) reading, for Ignition, stream metadata and images that are named by a URL. */
export interface Web {
  /**
   * Opens a URL; passing faults are retried before the body begins.
   * @throws AgentError `web.unreachable`, `web.refused`, `web.untrusted`
   */
  readonly open: (url: string, request: WebRequest) => Promise<Download>;
}
