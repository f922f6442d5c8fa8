import type { Objects } from '../../src/ports/objects.ts';
import { objectsFailure } from '../../src/adapters/objects/s3.ts';
import { downloadOf, type DownloadShape } from './download.ts';

/** An object store in memory. */
interface FakeObjects extends Objects {
  /** Stores an object; `path` is `bucket/key`. */
  readonly with: (path: string, content: string | Uint8Array, shape?: DownloadShape) => FakeObjects;
  /** Makes the next gets fail with this error. */
  readonly failing: (error: Error, times?: number) => FakeObjects;
  /** `bucket/key` of each get, in order. */
  readonly asked: readonly string[];
}

/** An empty object store. */
export function fakeObjects(): FakeObjects {
  const stored = new Map<string, [string | Uint8Array, DownloadShape]>();
  const failures: Error[] = [];
  const asked: string[] = [];
  const objects: FakeObjects = {
    asked,
    with: (path, content, shape = {}) => {
      stored.set(path, [content, shape]);
      return objects;
    },
    failing: (error, times = 1) => {
      failures.push(...Array.from({ length: times }, () => error));
      return objects;
    },
    get: async (bucket, key, signal) => {
      await Promise.resolve();
      signal.throwIfAborted();
      asked.push(`${bucket}/${key}`);
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      const found = stored.get(`${bucket}/${key}`);
      if (found === undefined) {
        throw objectsFailure('objects.not-found', `${bucket}/${key} is not in the object store`, {
          context: { bucket, key },
        });
      }
      const [content, shape] = found;
      return downloadOf(content, { origin: `s3://${bucket}/${key}`, ...shape });
    },
  };
  return objects;
}
