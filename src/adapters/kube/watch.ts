import { ApiError, errorOfEvent, isExpired } from './api-error.ts';
import { acceptOf, type ApiServer, type KubeTimeouts, selectionPath } from './api-server.ts';
import { isObject, type Keep, withoutManagedFields } from './list.ts';
import { limited } from '../../engine/limit.ts';
import type { Clock } from '../../ports/clock.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import type { KubeObject, KubeSelection } from '../../ports/kube.ts';

/** A watch from a resourceVersion on, and its receivers. */
interface Watching {
  readonly selection: KubeSelection;
  readonly version: string;
  readonly timeouts: KubeTimeouts;
  readonly keep: Keep;
  readonly clock: Clock;
  /** Called when the server has begun to answer. */
  readonly opened: () => void;
  readonly happened: (event: Exclude<WatchEvent, { readonly type: 'error' }>) => void;
}

/**
 * Watches once. Resolves with `over` if the server ended the watch at the requested time, and with
 * `expired` if it has no history from that resourceVersion on (410 in an event or as the answer).
 * The request sets a timeout: a server that is shutting down keeps a watch open in silence for a
 * minute while another already serves, and a connection may die silently. Shortly before the end,
 * the server sends a bookmark, so that the next watch begins late in history.
 * @throws ApiError if the watch broke off or was refused; the signal's reason
 */
export async function watchOnce(
  server: ApiServer,
  { selection, version, timeouts, keep, clock, opened, happened }: Watching,
  signal: AbortSignal,
): Promise<'over' | 'expired'> {
  const path = selectionPath(selection, {
    watch: 'true',
    resourceVersion: version,
    allowWatchBookmarks: 'true',
    timeoutSeconds: Math.ceil(timeouts.watch / 1000),
  });
  const asked = { method: 'GET', path, ...acceptOf(selection.kind) } as const;
  const late = (): Error =>
    new ApiError(kubeFailure('kube.unreachable', `GET ${path} sent nothing in time`));
  const limit = timeouts.watch + timeouts.watchGrace;
  try {
    return await limited(clock, { limit, signal, late }, (inner) =>
      server.ask({ ...asked, idle: timeouts.silence }, inner, async (body) => {
        opened();
        for await (const line of linesOf(body)) {
          const event = readWatchLine(line, keep);
          if (event === undefined) throw unreadable(path);
          if (event.type !== 'error') happened(event);
          else if (isExpired(event.status)) return 'expired';
          else throw errorOfEvent(`GET ${path}`, event.status);
        }
        return 'over';
      }),
    );
  } catch (error) {
    if (error instanceof ApiError && error.failure.context['status'] === 410) return 'expired';
    throw error;
  }
}

const unreadable = (path: string): ApiError =>
  new ApiError(kubeFailure('kube.failed', `GET ${path}: a line of the watch cannot be parsed`), {
    worth: 'list',
  });

/** One line of a watch. */
export type WatchEvent =
  | { readonly type: 'put'; readonly object: KubeObject }
  | { readonly type: 'gone'; readonly object: KubeObject }
  /** No object changed; only the resourceVersion advanced. */
  | { readonly type: 'bookmark'; readonly version: string }
  | { readonly type: 'error'; readonly status: unknown };

/**
 * Parses a line of a watch; undefined if it is invalid, after which the rest of the stream is not
 * used.
 */
export function readWatchLine(
  line: string,
  keep: Keep = withoutManagedFields,
): WatchEvent | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  const { type, object } = Object(value) as { readonly type?: unknown; readonly object?: unknown };
  if (type === 'ERROR') return { type: 'error', status: object };
  if (!isObject(object)) return undefined;
  switch (type) {
    case 'ADDED':
    case 'MODIFIED':
      return { type: 'put', object: keep(object) };
    case 'DELETED':
      return { type: 'gone', object };
    case 'BOOKMARK':
      return { type: 'bookmark', version: object.metadata.resourceVersion ?? '' };
    default:
      return undefined;
  }
}

const newline = 0x0a;

/**
 * Maximum bytes of a line of a watch: an object has at most 1.5 MiB (etcd, `--max-request-bytes`),
 * before JSON escapes.
 */
const longestLine = 16 * 1024 ** 2;

const tooLong = (): ApiError =>
  new ApiError(
    kubeFailure('kube.failed', `a line of the watch is longer than ${longestLine / 1024 ** 2} MiB`),
    { worth: 'list' },
  );

/**
 * The complete lines of a body. Drops an incomplete last line.
 * @throws ApiError for a line without end
 */
export async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let begun: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    let from = 0;
    for (;;) {
      const end = chunk.indexOf(newline, from);
      if (end < 0) break;
      const line = Buffer.concat([...begun, chunk.subarray(from, end)]).toString('utf8');
      begun = [];
      length = 0;
      from = end + 1;
      if (line.trim() !== '') yield line;
    }
    if (from === chunk.length) continue;
    begun.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > longestLine) throw tooLong();
  }
}
