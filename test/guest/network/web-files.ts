import { openAsBlob } from 'node:fs';
import { type MockServer, startMockServer } from '../../../mocks/http/mock-server.ts';
import { rangeOf } from '../install/image-server.ts';

/**
 * A web server with files, as one stands beside a rack; it knows ranges. What it has no file for is
 * not found.
 */
export async function serveFiles(files: Readonly<Record<string, string>>): Promise<MockServer> {
  const blobs = new Map<string, Blob>(
    await Promise.all(
      Object.entries(files).map(
        async ([name, path]) => [`/${name}`, await openAsBlob(path)] as const,
      ),
    ),
  );
  return startMockServer({
    answer: ({ url, headers }) => {
      const blob = blobs.get(new URL(url).pathname);
      if (blob === undefined) return new Response(null, { status: 404 });
      const range = headers.get('range') ?? undefined;
      const [from, to] = rangeOf(range, blob.size);
      return new Response(blob.slice(from, to), {
        status: range === undefined ? 200 : 206,
        headers: {
          'content-length': String(to - from),
          'accept-ranges': 'bytes',
          ...(range === undefined
            ? {}
            : { 'content-range': `bytes ${from}-${to - 1}/${blob.size}` }),
        },
      });
    },
  });
}
