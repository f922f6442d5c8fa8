/** A request as a server of the lab has seen it. */
export interface RecordedRequest {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly method: string;
  /** Path with query, as it was sent. */
  readonly path: string;
  /** Only the headers of `recordedHeaders`, lower case, and only those that were sent. */
  readonly headers: Readonly<Record<string, string>>;
  /** Text of the body; of an upload only its first kibibyte. */
  readonly body: string;
  /** Status that was answered; undefined while no answer was given and when a fault ate it. */
  status?: number;
}

/** Headers that a recording keeps. */
const recordedHeaders = [
  'accept',
  'authorization',
  'content-length',
  'content-type',
  'user-agent',
  'x-request-id',
  'x-secret-key',
] as const;

const UPLOAD_EXCERPT_BYTES = 1024;

/** Makes the record of one request. */
export function recordOf(request: Request, body: Uint8Array, at: number): RecordedRequest {
  const { pathname, search } = new URL(request.url);
  const sent = recordedHeaders.flatMap((name) => {
    const value = request.headers.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  const isText = (request.headers.get('content-type') ?? '').includes('json');
  return {
    at,
    method: request.method,
    path: `${pathname}${search}`,
    headers: Object.fromEntries(sent),
    body: Buffer.from(isText ? body : body.subarray(0, UPLOAD_EXCERPT_BYTES)).toString('utf8'),
  };
}
