import type { Fault } from '../http/fault.ts';
import { type MockServer, startMockServer } from '../http/mock-server.ts';
import { type Buckets, objectsApp } from './app.ts';

/** A running object store. */
export interface ObjectStore extends MockServer {
  /** Puts an object without a request; makes the bucket. */
  readonly put: (bucket: string, key: string, content: string | Uint8Array) => void;
}

/** How an object store is started. */
export interface ObjectStoreOptions {
  /** Access keys that are known; none unless given. */
  readonly accessKeyIds?: readonly string[];
  /** Whether requests without a signature are let in; they are unless told otherwise. */
  readonly allowsAnonymous?: boolean;
  readonly faults?: readonly Fault[];
  readonly port?: number;
}

/** Starts the stand-in of an S3 server on 127.0.0.1. */
export async function startObjectStore({
  accessKeyIds = [],
  allowsAnonymous = true,
  ...options
}: ObjectStoreOptions = {}): Promise<ObjectStore> {
  const buckets: Buckets = new Map();
  const app = objectsApp(buckets, { accessKeyIds, allowsAnonymous });
  const server = await startMockServer({ ...options, answer: (request) => app.fetch(request) });
  return {
    ...server,
    put: (bucket, key, content) => {
      const objects = buckets.get(bucket) ?? new Map<string, Uint8Array>();
      buckets.set(bucket, objects.set(key, Buffer.from(content)));
    },
  };
}
