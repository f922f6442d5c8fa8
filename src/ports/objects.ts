import type { Download } from './inventory.ts';

/** An object store with the API of S3. */
export interface Objects {
  /** @throws AgentError `objects.not-found`, `objects.denied`, `objects.unreachable` */
  readonly get: (bucket: string, key: string, signal: AbortSignal) => Promise<Download>;
}
