import type { HonoRequest } from 'hono';
import type { Millis } from '../model/duration.ts';

/** One route of a server. */
export interface HttpRoute {
  /** `GET` also answers HEAD. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /**
   * Absolute path, with `:name` for a segment of any text. Paths of requests are normalized before
   * (`/x/../healthz`).
   */
  readonly path: string;
  /** Maximum bytes of a body; default: no body is accepted. */
  readonly bodyLimit?: number;
  /** Time for the body to arrive and to be answered; default: 10 s. */
  readonly deadline?: Millis;
  /** Maximum concurrent requests of this route, counted apart from other routes. */
  readonly atOnce?: number;
  /**
   * Answers a request. The signal aborts when the client is gone, and at the deadline. May throw
   * `HttpRefusal`; any other error is logged and answered by 500.
   */
  readonly answer: (request: HonoRequest, signal: AbortSignal) => Response | Promise<Response>;
}

/** Ends a request with a status and a reason. */
export class HttpRefusal extends Error {
  override readonly name = 'HttpRefusal';
  readonly response: Response;

  constructor(status: number, text: string, headers: Readonly<Record<string, string>> = {}) {
    super(text);
    this.response = new Response(`${text}\n`, { status, headers });
  }
}
