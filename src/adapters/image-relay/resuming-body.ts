import { type Millis, seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import type { Clock } from '../../ports/clock.ts';
import { imageRelayFailure } from '../../ports/image-relay-failures.ts';
import type { Download } from '../../ports/inventory.ts';
import type { Web } from '../../ports/web.ts';

/** A source that is cut so often in a row without a single byte is given up. */
const cutsInARow = 5;

/** Pause after the first cut; each further one in a row doubles it. */
const firstPause: Millis = seconds(1);

/** What is read, and what it needs. */
export interface ResumingRead {
  readonly web: Web;
  readonly clock: Clock;
  readonly url: string;
  readonly signal: AbortSignal;
  /** Told each time the source is taken up again. */
  readonly onResume: () => void;
}

/**
 * The body of a URL that was opened, and its rest after every cut: by Range where the server knows
 * the length and honours the header, else by reading again what is there already.
 * @throws AgentError `image.cut`, and what opening the URL again fails with
 */
export async function* resumingBody(
  opened: Download,
  read: ResumingRead,
): AsyncGenerator<Uint8Array> {
  const total = opened.bytes;
  let at = 0;
  let cuts = 0;
  let next = { download: opened, skip: 0 };
  for (;;) {
    let cause: unknown;
    try {
      for await (const piece of withoutFirst(next.download.body, next.skip)) {
        at += piece.length;
        cuts = 0;
        yield piece;
      }
      if (total === undefined || at === total) return;
    } catch (error) {
      cause = error;
    }
    read.signal.throwIfAborted();
    cuts += 1;
    if (cuts > cutsInARow || (total !== undefined && at > total)) {
      throw cutFailure({ opened, at, cause });
    }
    await read.clock.sleep(firstPause * 2 ** (cuts - 1), read.signal);
    read.onResume();
    next = await openAt(read, at, total);
  }
}

async function openAt(
  read: ResumingRead,
  at: number,
  total: number | undefined,
): Promise<{ readonly download: Download; readonly skip: number }> {
  const { web, url, signal } = read;
  if (at > 0 && total !== undefined) {
    try {
      const download = await web.open(url, { signal, range: [at, total - 1] });
      // A server without ranges may answer with the whole file.
      return { download, skip: download.bytes === total - at ? 0 : at };
    } catch (error) {
      if (!givesWholeFilesOnly(error)) throw error;
    }
  }
  return { download: await web.open(url, { signal }), skip: at };
}

const givesWholeFilesOnly = (error: unknown): boolean =>
  error instanceof AgentError && error.code === 'web.refused' && error.context['status'] === 200;

async function* withoutFirst(
  body: AsyncIterable<Uint8Array>,
  bytes: number,
): AsyncGenerator<Uint8Array> {
  let left = bytes;
  for await (const piece of body) {
    const skipped = Math.min(left, piece.length);
    left -= skipped;
    if (skipped < piece.length) yield piece.subarray(skipped);
  }
}

function cutFailure({
  opened,
  at,
  cause,
}: {
  readonly opened: Download;
  readonly at: number;
  readonly cause: unknown;
}): Error {
  const { origin, bytes } = opened;
  const message = `${origin} gave ${at}${bytes === undefined ? '' : ` of ${bytes}`} bytes`;
  return imageRelayFailure('image.cut', message, {
    cause,
    context: { origin, received: at, ...(bytes === undefined ? {} : { announced: bytes }) },
  });
}
