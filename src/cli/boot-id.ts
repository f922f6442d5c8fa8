import type { Host } from '../ports/host.ts';

/** Names the present boot of the host; `unknown` where it tells none. */
export const readBootId = async (host: Host, signal: AbortSignal): Promise<string> =>
  (await host.readText('/proc/sys/kernel/random/boot_id', signal))?.trim() ?? 'unknown';
