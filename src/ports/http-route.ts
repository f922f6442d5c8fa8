import type { Millis } from '../model/duration.ts';

/** A request for a route. */
export interface RouteRequest {
  readonly method: string;
  /** As sent, without the query. */
  readonly path: string;
  /** The decoded text of the path for each `{name}` of the route. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** By name in lower case; repeated headers joined by commas. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /**
   * The body as it arrives; throws `HttpRefusal` 413 beyond the limit of the route. It can be read
   * once, either here or by `bytes`.
   */
  readonly body: AsyncIterable<Uint8Array>;
  /** The whole body. */
  readonly bytes: () => Promise<Uint8Array>;
  /** Aborts when the client is gone, and at the deadline. */
  readonly signal: AbortSignal;
}

/** An answer. Text without an explicit type is `text/plain`. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** Instead of a body: texts that are sent one by one, each once the client can take it. */
  readonly stream?: AsyncIterable<string>;
}

/** One route of a server. */
export interface HttpRoute {
  /** `GET` also answers HEAD. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Absolute path, with `{name}` for a segment of any text. */
  readonly path: string;
  /** Maximum bytes of a body; default: no body is accepted. */
  readonly bodyLimit?: number;
  /** Time for the body to arrive and to be answered; default: 10 s. */
  readonly deadline?: Millis;
  /** Maximum concurrent requests of this route, counted apart from other routes. */
  readonly atOnce?: number;
  /** May throw `HttpRefusal`; any other error is logged and answered by 500. */
  readonly answer: (request: RouteRequest) => Promise<HttpAnswer>;
}

/** Ends a request with a status and a reason. */
export class HttpRefusal extends Error {
  override readonly name = 'HttpRefusal';
  readonly answer: HttpAnswer;

  constructor(status: number, text: string, headers: Readonly<Record<string, string>> = {}) {
    super(text);
    this.answer = { status, headers, body: `${text}\n` };
  }
}

/** An answer in JSON. */
export const jsonAnswer = (status: number, value: unknown): HttpAnswer => ({
  status,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
});
