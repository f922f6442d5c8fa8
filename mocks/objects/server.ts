import { createHash } from 'node:crypto';
import { Hono } from 'hono';
import type { Fault } from '../http/fault.ts';
import { type MockServer, startMockServer } from '../http/mock-server.ts';

/** A running object store. */
export interface ObjectStore extends MockServer {
  /** Puts an object without a request; makes the bucket. */
  readonly put: (bucket: string, key: string, content: string | Uint8Array) => void;
}

/** Starts the stand-in of an S3 server on 127.0.0.1. */
export async function startObjectStore(
  options: { readonly faults?: readonly Fault[] } = {},
): Promise<ObjectStore> {
  const buckets: Buckets = new Map();
  const app = objectsApp(buckets);
  const server = await startMockServer({ ...options, answer: (request) => app.fetch(request) });
  return {
    ...server,
    put: (bucket, key, content) => {
      const objects = buckets.get(bucket) ?? new Map<string, Uint8Array>();
      buckets.set(bucket, objects.set(key, Buffer.from(content)));
    },
  };
}

/** Buckets with their objects. */
type Buckets = Map<string, Map<string, Uint8Array>>;

/** A subset of S3, path style: GET, HEAD and PUT of objects. It knows no access key. */
function objectsApp(buckets: Buckets): Hono {
  const app = new Hono();
  app.use(async ({ req }, next) => {
    if (req.header('authorization') !== undefined) return s3Error(403, 'InvalidAccessKeyId');
    await next();
    return undefined;
  });
  app.get('/:bucket/:key{.+}', ({ req }) => give(buckets, req.param('bucket'), req.param('key')));
  app.put('/:bucket/:key{.+}', async ({ req }) => {
    const bucket = buckets.get(req.param('bucket'));
    if (bucket === undefined) return s3Error(404, 'NoSuchBucket');
    const content = new Uint8Array(await req.arrayBuffer());
    bucket.set(req.param('key'), content);
    return new Response(null, { status: 200, headers: { etag: etagOf(content) } });
  });
  app.notFound(() => s3Error(405, 'MethodNotAllowed'));
  return app;
}

function give(buckets: Buckets, bucketName: string, key: string): Response {
  const bucket = buckets.get(bucketName);
  if (bucket === undefined) return s3Error(404, 'NoSuchBucket');
  const content = bucket.get(key);
  if (content === undefined) return s3Error(404, 'NoSuchKey');
  return new Response(Buffer.from(content), {
    headers: {
      'content-type': 'binary/octet-stream',
      'content-length': String(content.length),
      etag: etagOf(content),
    },
  });
}

const etagOf = (content: Uint8Array): string =>
  `"${createHash('md5').update(content).digest('hex')}"`;

const s3Error = (status: number, code: string): Response =>
  new Response(
    `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${code}</Code><Message>${code}</Message></Error>`,
    { status, headers: { 'content-type': 'application/xml' } },
  );
