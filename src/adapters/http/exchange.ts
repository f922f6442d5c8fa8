import { type Dispatcher, request } from './undici.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Connection } from './connection.ts';
import { type Fault, faultOf } from './faults.ts';
import { retryAfter } from './retry.ts';

/** One request as it is put on the wire. */
export interface Question {
  readonly method: 'GET' | 'PUT' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Whole, so that it can be sent once more. */
  readonly body?: string | Buffer | undefined;
}

/** The beginning of an answer; its body must be read or dumped. */
export interface Answer {
  readonly status: number;
  readonly headers: Dispatcher.ResponseData['headers'];
  readonly body: Dispatcher.ResponseData['body'];
  /** From a Retry-After header, in milliseconds. */
  readonly retryAfter: number | undefined;
}

/** What became of a question: an answer of any status, or a fault. */
export type Exchange =
  | { readonly answer: Answer; readonly fault?: undefined }
  | { readonly answer?: undefined; readonly fault: Fault };

/**
 * Asks once, following no redirect.
 * @throws the signal's reason when it aborts
 */
export async function exchange(
  { connection, clock }: { readonly connection: Connection; readonly clock: Clock },
  question: Question,
  signal: AbortSignal,
): Promise<Exchange> {
  try {
    const { statusCode, headers, body } = await request(question.url, {
      dispatcher: connection.dispatcherFor(question.url),
      method: question.method,
      headers: { ...question.headers },
      ...(question.body === undefined ? {} : { body: question.body }),
      signal,
    });
    const wait = headerOf(headers, 'retry-after');
    return {
      answer: { status: statusCode, headers, body, retryAfter: retryAfter(wait, clock.now()) },
    };
  } catch (error) {
    signal.throwIfAborted();
    return { fault: faultOf(error) };
  }
}

/** The value of a header, the first one where there are several. */
export function headerOf(headers: Answer['headers'], name: string): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** The text of a short body, up to a size; what cannot be read is left out. */
export async function shortText(body: Answer['body'], most = 16 * 1024): Promise<string> {
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of body as AsyncIterable<Buffer>) {
      pieces.push(piece);
      size += piece.length;
      if (size >= most) break;
    }
  } catch {
    // What came so far says enough.
  }
  return Buffer.concat(pieces).toString('utf8').slice(0, most);
}
