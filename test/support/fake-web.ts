import type { Web, WebRequest } from '../../src/ports/web.ts';
import { webFailure } from '../../src/adapters/http/failures.ts';
import { downloadOf, type DownloadShape } from './download.ts';

/** Pages in memory. */
export interface FakeWeb extends Web {
  readonly with: (url: string, content: string | Uint8Array, shape?: DownloadShape) => FakeWeb;
  /** Makes opening this URL fail a number of times (default: always). */
  readonly failing: (url: string, error: Error, times?: number) => FakeWeb;
  /** All opened URLs with their options. */
  readonly opened: readonly (WebRequest & { readonly url: string })[];
}

/** A web without pages: an unknown URL answers 404. */
export function fakeWeb(): FakeWeb {
  const pages = new Map<string, [string | Uint8Array, DownloadShape]>();
  const failures = new Map<string, { error: Error; times: number }>();
  const opened: (WebRequest & { url: string })[] = [];
  const web: FakeWeb = {
    opened,
    with: (url, content, shape = {}) => {
      pages.set(url, [content, shape]);
      return web;
    },
    failing: (url, error, times = Number.POSITIVE_INFINITY) => {
      failures.set(url, { error, times });
      return web;
    },
    open: async (url, request) => {
      await Promise.resolve();
      request.signal.throwIfAborted();
      opened.push({ url, ...request });
      const failure = failures.get(url);
      if (failure !== undefined && failure.times > 0) {
        failure.times -= 1;
        throw failure.error;
      }
      const page = pages.get(url);
      if (page === undefined) {
        throw webFailure('web.refused', `${url} answered 404`, { context: { url, status: 404 } });
      }
      return ranged(url, page, request.range);
    },
  };
  return web;
}

function ranged(
  url: string,
  [content, shape]: [string | Uint8Array, DownloadShape],
  range: readonly [number, number] | undefined,
): ReturnType<typeof downloadOf> {
  if (range === undefined) return downloadOf(content, { origin: url, ...shape });
  const all = typeof content === 'string' ? new TextEncoder().encode(content) : content;
  const part = downloadOf(all.subarray(range[0], range[1] + 1), { origin: url, ...shape });
  return { ...part, wholeBytes: all.length };
}
