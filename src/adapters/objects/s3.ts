import { Readable } from 'node:stream';
import type { GetObjectCommandOutput, S3Client } from '@aws-sdk/client-s3';
import { type Connection, connection } from '../http/connection.ts';
import { answerTo, wholeBody } from '../http/exchange.ts';
import { networkErrorOf } from '../http/network-error.ts';
import {
  AttemptFailure,
  type CallerOptions,
  fewRetries,
  retriesFor,
  retryAfter,
  withRetry,
} from '../http/retry.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import type { Millis } from '../../model/duration.ts';
import { failuresOf, type FailureTable } from '../../model/failure.ts';
import type { Secret } from '../../model/secret.ts';
import { version } from '../../model/version.ts';
import type { Download } from '../../ports/inventory.ts';
import type { Objects } from '../../ports/objects.ts';

/** Options for reaching an object store. */
export interface ObjectsOptions extends CallerOptions {
  /** Base URL; buckets are the first path element, as in MinIO and the oldest agents. */
  readonly endpoint: string;
  readonly region: string;
  /** Without credentials, requests are anonymous. */
  readonly credentials?: { readonly accessKeyId: string; readonly secretAccessKey: Secret };
  readonly openLimit?: Millis;
}

/** An object store through the S3 API. The client library loads at the first use. */
export function s3Objects(options: ObjectsOptions): Objects {
  const reach = connection(options.connection);
  let client: Promise<S3Client> | undefined;
  return {
    get: async (bucket, key, signal) => {
      const what = `${bucket}/${key}`;
      const shown = shownUrl(options.endpoint);
      const policy = {
        peer: 'the object store',
        what,
        limit: options.openLimit,
        silence: () =>
          objectsFailure('objects.unreachable', `${shown} does not answer`, {
            context: { object: what, endpoint: shown },
          }),
      };
      return withRetry(options, policy, signal, async (inner) => {
        const both = AbortSignal.any([signal, inner]);
        try {
          client ??= makeClient(options, reach);
          const { GetObjectCommand } = await import('@aws-sdk/client-s3');
          const command = new GetObjectCommand({ Bucket: bucket, Key: key });
          const answer = await (await client).send(command, { abortSignal: both });
          const origin = `${new URL(options.endpoint).origin}/${what}`;
          return downloadOf(answer, origin, both);
        } catch (error) {
          both.throwIfAborted();
          const proxy = reach.proxyOf(new URL(options.endpoint));
          throw failedAttempt(error, what, shown, proxy, options.clock.now());
        }
      });
    },
  };
}

async function makeClient(options: ObjectsOptions, reach: Connection): Promise<S3Client> {
  const { S3Client } = await import('@aws-sdk/client-s3');
  const { credentials } = options;
  return new S3Client({
    endpoint: options.endpoint,
    region: options.region,
    forcePathStyle: true,
    // The adapter retries itself, with its clock and its rules.
    maxAttempts: 1,
    requestHandler: handlerFor(options, reach),
    defaultUserAgentProvider: () => Promise.resolve([['bootwright', version]]),
    ...(credentials === undefined
      ? {
          signer: { sign: (request) => Promise.resolve(request) },
          credentials: { accessKeyId: '', secretAccessKey: '' },
        }
      : {
          credentials: {
            accessKeyId: credentials.accessKeyId,
            secretAccessKey: credentials.secretAccessKey.reveal(),
          },
        }),
  });
}

/** The library's request: it has no stream, and its path is encoded. */
interface LibraryRequest {
  readonly protocol: string;
  readonly hostname: string;
  readonly port?: number;
  readonly path: string;
  readonly query?: Readonly<Record<string, string | readonly string[] | null>>;
  readonly headers: Readonly<Record<string, string>>;
}

/** The library's transport: sends every request with the same limits as all others. */
const handlerFor = (
  { clock }: ObjectsOptions,
  reach: Connection,
): { readonly handle: HttpHandler } => ({
  handle: async ({ protocol, hostname, port, path, query = {}, headers }, { abortSignal }) => {
    const url = new URL(`${protocol}//${hostname}${port === undefined ? '' : `:${port}`}${path}`);
    for (const [name, value] of Object.entries(query))
      url.searchParams.append(name, String(value ?? ''));
    const { host: _, 'user-agent': agent = '', ...rest } = headers;
    const question = { method: 'GET', url, headers: { ...rest, 'User-Agent': agent } } as const;
    const answer = await answerTo({ connection: reach, clock }, question, abortSignal);
    const { status: statusCode, body } = answer;
    return { response: { statusCode, headers: answer.headers, body: Readable.from(body) } };
  },
});

type HttpHandler = (
  request: LibraryRequest,
  options: { readonly abortSignal: AbortSignal },
) => Promise<{ readonly response: object }>;

function downloadOf(answer: GetObjectCommandOutput, origin: string, signal: AbortSignal): Download {
  const body = answer.Body as AsyncIterable<Uint8Array> | undefined;
  if (body === undefined) throw new Error('the answer has no body');
  const bytes = answer.ContentLength;
  return {
    body: wholeBody(body, { origin, signal, bytes }),
    origin,
    ...(bytes === undefined ? {} : { bytes }),
    ...(answer.ContentType === undefined ? {} : { contentType: answer.ContentType }),
  };
}

/** Common fields of the library's errors. */
interface ServiceException {
  readonly name?: string;
  readonly message?: string;
  readonly $metadata?: { readonly httpStatusCode?: number };
  readonly $response?: { readonly headers?: Readonly<Record<string, string>> };
}

function failedAttempt(
  error: unknown,
  what: string,
  endpoint: string,
  proxy: string | undefined,
  now: number,
): AttemptFailure {
  const exception = error as ServiceException;
  const { $metadata, $response, name = '', message = '' } = exception;
  const status = $metadata?.httpStatusCode;
  const networkError = networkErrorOf(error, proxy);
  // From now on the library signs by the store's clock.
  const isSkewed = name === 'RequestTimeTooSkewed';
  const context = { object: what, endpoint };
  if (status === undefined)
    return new AttemptFailure({
      retries: retriesFor(networkError.kind),
      failure: objectsFailure(
        'objects.unreachable',
        `${endpoint} cannot be reached: ${networkError.words}`,
        { context: { ...context, ...networkError.context }, cause: error },
      ),
    });
  return new AttemptFailure({
    // A missing object will still be missing in a minute.
    retries: isSkewed ? fewRetries : status === 404 ? 0 : retriesFor(status),
    notBefore: retryAfter($response?.headers?.['retry-after'], now),
    failure: objectsFailure(codeFor(status), `${what}: the store answered ${status} ${name}`, {
      context: { ...context, status, answer: message },
      ...(isSkewed ? { hint: 'set the clock of this host, or of the store' } : {}),
    }),
  });
}

function codeFor(status: number): Parameters<typeof objectsFailure>[0] {
  if (status === 404) return 'objects.not-found';
  if (status >= 400 && status < 500 && retriesFor(status) === 0) return 'objects.denied';
  return 'objects.unreachable';
}

/** Failures of the object store. */
export const objectsFailures = {
  'objects.not-found': {
    kind: 'remote',
    isFinal: true,
    title: 'The object store does not have an object',
    hint: 'check the bucket and the cluster id, and that the file was uploaded',
  },
  'objects.denied': {
    kind: 'remote',
    isFinal: true,
    title: 'The object store denies access to an object',
    hint: 'check the keys, or allow anonymous reading of the bucket',
  },
  'objects.unreachable': {
    kind: 'remote',
    title: 'The object store is unreachable or fails',
    hint: 'check the endpoint, routes and proxies of the host, and the store itself',
  },
} as const satisfies FailureTable;

/** Builds an error of the object store. */
export const objectsFailure = failuresOf(objectsFailures);
