import type { KubeObject } from '../../ports/kube.ts';
import { withoutManagedFields } from './object.ts';

/** One line of a watch. */
export type WatchEvent =
  | { readonly type: 'put'; readonly object: KubeObject }
  | { readonly type: 'gone'; readonly object: KubeObject }
  /** Nothing happened; only the history went on. */
  | { readonly type: 'bookmark'; readonly version: string }
  | { readonly type: 'error'; readonly status: unknown };

/** Reads a line of a watch; undefined when it is none, which the rest of the stream must pay for. */
export function readWatchLine(line: string): WatchEvent | undefined {
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
      return { type: 'put', object: withoutManagedFields(object) };
    case 'DELETED':
      return { type: 'gone', object };
    case 'BOOKMARK':
      return { type: 'bookmark', version: object.metadata.resourceVersion ?? '' };
    default:
      return undefined;
  }
}

const isObject = (value: unknown): value is KubeObject =>
  typeof (value as Partial<KubeObject> | undefined)?.metadata === 'object';

const newline = 0x0a;

/** The whole lines of a body. What stands behind the last line's end was cut off and is left out. */
export async function* linesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let begun: Uint8Array[] = [];
  for await (const piece of body) {
    let from = 0;
    for (;;) {
      const end = piece.indexOf(newline, from);
      if (end < 0) break;
      const line = Buffer.concat([...begun, piece.subarray(from, end)]).toString('utf8');
      begun = [];
      from = end + 1;
      if (line.trim() !== '') yield line;
    }
    if (from < piece.length) begun.push(piece.subarray(from));
  }
}
