import type { Clock } from '../../ports/clock.ts';
import type { Random } from '../../ports/random.ts';
import type { ConnectionOptions } from './connection.ts';
import type { RetryNotice } from './retry.ts';

/** What everything that makes requests is given. */
export interface CallerOptions {
  /** Proxies, trust and patience of every request. */
  readonly connection?: ConnectionOptions;
  readonly clock: Clock;
  readonly random: Random;
  /** Called when a request was written. */
  readonly onSent?: () => void;
  /** Told of every retry, with what is being done. */
  readonly onRetry?: (notice: RetryNotice & { readonly what: string }) => void;
}
