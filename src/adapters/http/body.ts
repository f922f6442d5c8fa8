import type { Download } from '../../ports/inventory.ts';
import { type Answer, headerOf } from './exchange.ts';
import { webFailure } from './failures.ts';
import { faultOf } from './faults.ts';

/** Where a body comes from, for people. */
export interface BodyOrigin {
  /** Without credentials. */
  readonly origin: string;
  readonly signal: AbortSignal;
}

/**
 * An answer's body as a download. It rejects with AgentError `web.cut` when it ends early or
 * stalls, and with the signal's reason when that aborts.
 */
export function downloadOf(answer: Answer, { origin, signal }: BodyOrigin): Download {
  const isEncoded = headerOf(answer.headers, 'content-encoding') !== undefined;
  const length = headerOf(answer.headers, 'content-length');
  const bytes = length === undefined || isEncoded ? undefined : Number(length);
  const contentType = headerOf(answer.headers, 'content-type');
  return {
    body: wholeBody(answer.body, { origin, signal, bytes }),
    origin,
    ...(bytes === undefined ? {} : { bytes }),
    ...(contentType === undefined ? {} : { contentType }),
  };
}

/** Passes a body on and makes sure that it is whole; for bodies of other clients too. */
export async function* wholeBody(
  body: AsyncIterable<Uint8Array>,
  { origin, signal, bytes }: BodyOrigin & { readonly bytes: number | undefined },
): AsyncGenerator<Uint8Array> {
  let received = 0;
  try {
    for await (const piece of body) {
      received += piece.length;
      yield piece;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw cut(origin, { received, bytes, words: faultOf(error).words, cause: error });
  }
  if (bytes !== undefined && received !== bytes) {
    throw cut(origin, { received, bytes, words: 'its end is missing', cause: undefined });
  }
}

interface CutStory {
  readonly received: number;
  readonly bytes: number | undefined;
  readonly words: string;
  readonly cause: unknown;
}

const cut = (origin: string, { received, bytes, words, cause }: CutStory): Error =>
  webFailure(
    'web.cut',
    `the download of ${origin} stopped after ${received}${
      bytes === undefined ? '' : ` of ${bytes}`
    } bytes: ${words}`,
    { context: { origin, received, ...(bytes === undefined ? {} : { bytes }) }, cause },
  );
