import type { Millis } from '../model/duration.ts';
import type { Download } from './inventory.ts';

/** Options for reading a URL. */
export interface WebRequest {
  readonly signal: AbortSignal;
  /** The server in the words of an operator; default: the server. */
  readonly peer?: string;
  /** Limit until the body begins, with all retries; default: 10 minutes. */
  readonly limit?: Millis;
  /** Value of the Accept header. */
  readonly accept?: string;
  /** PEM certificates to trust in addition to the system's. */
  readonly ca?: string;
  /** Trust only `ca` and use no proxy: the rule for a machine-config-server. */
  readonly caOnly?: boolean;
  /** Follow no redirect to plain http: only TLS verifies the content. */
  readonly tlsOnly?: boolean;
  /** Bytes of a larger file, `[from, to]` inclusive, by a Range header. */
  readonly range?: readonly [number, number];
}

/** Reads http(s) URLs of Ignition, stream metadata and images. */
export interface Web {
  /**
   * Opens a URL; retries transient errors until the body begins.
   * @throws AgentError `web.unreachable`, `web.refused`, `web.untrusted`
   */
  readonly open: (url: string, request: WebRequest) => Promise<Download>;
}
