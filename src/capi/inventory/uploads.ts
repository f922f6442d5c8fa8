import { limited } from '../../engine/limit.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { Clock } from '../../ports/clock.ts';
import type { RouteRequest } from '../../ports/http-route.ts';
import { RefusedCall } from './access.ts';

/**
 * A log of a host arrives at least as fast: a slow management network has a thousand times as much.
 */
const pace = { bytes: 16 * 1024, within: seconds(20) } as const;

/**
 * Gives each host one place for the upload of a log, so that a host that sends a byte now and then
 * takes no place of another, and holds its own for seconds.
 * @throws RefusedCall 429 while the host has another upload
 */
export function uploadPlaces(): <T>(hostId: string, work: () => Promise<T>) => Promise<T> {
  const hosts = new Set<string>();
  return async (hostId, work) => {
    if (hosts.has(hostId))
      throw new RefusedCall(429, 'another log of this host is being sent', { 'retry-after': '10' });
    hosts.add(hostId);
    try {
      return await work();
    } finally {
      hosts.delete(hostId);
    }
  };
}

/** The body of an upload as it arrives. @throws RefusedCall 408 once it is slower than `pace` */
export async function* pacedBody(
  clock: Clock,
  { body, signal }: Pick<RouteRequest, 'body' | 'signal'>,
): AsyncGenerator<Uint8Array> {
  const chunks = body[Symbol.asyncIterator]();
  const late = (): Error => new RefusedCall(408, 'a log is to be sent without pauses');
  let bytes = 0;
  let until: Millis = clock.elapsed() + pace.within;
  for (;;) {
    const limit = until - clock.elapsed();
    if (limit <= 0) throw late();
    const next = await limited(clock, { limit, signal, late }, () => chunks.next());
    if (next.done === true) return;
    bytes += next.value.length;
    if (bytes >= pace.bytes) {
      bytes = 0;
      until = clock.elapsed() + pace.within;
    }
    yield next.value;
  }
}
