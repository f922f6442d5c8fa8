import type { Millis } from '../model/duration.ts';

/** A request as a route gets it. */
export interface RouteRequest {
  readonly method: string;
  /** Without the query; as it was sent. */
  readonly path: string;
  /** The text of the path for each `{name}` of the route, decoded. */
  readonly params: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** By their names in lower case; one that was sent several times joined by commas. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /**
   * The body as it arrives; throws `HttpRefusal` 413 beyond the limit of the route. It is read
   * once, by this or by `bytes`.
   */
  readonly body: AsyncIterable<Uint8Array>;
  /** The whole body. */
  readonly bytes: () => Promise<Uint8Array>;
  /** Aborts when the client is gone, and at the deadline. */
  readonly signal: AbortSignal;
}

/** An answer. Without a type of its own, text is `text/plain`. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** In place of a body: texts that are sent one by one, each once the client has room for it. */
  readonly stream?: AsyncIterable<string>;
}

/** One address of a server. */
export interface HttpRoute {
  /** `GET` answers HEAD too. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** From the root, with `{name}` for a segment of any text. */
  readonly path: string;
  /** Most bytes of a body; none is taken where it is not given. */
  readonly bodyLimit?: number;
  /** Time for the body to arrive and to be answered; 10 s where it is not given. */
  readonly deadline?: Millis;
  /** Requests of this route at work, where they shall take no place of the others'. */
  readonly atOnce?: number;
  /**
   * May throw `HttpRefusal`; anything else that it throws is answered by 500 and goes to the log.
   */
  readonly answer: (request: RouteRequest) => Promise<HttpAnswer>;
}

/** Ends a request with a status that says why. */
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
