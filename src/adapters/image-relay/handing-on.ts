import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { AgentError } from '../../model/failure.ts';
import { imageRelayFailure } from '../../ports/image-relay-failures.ts';
import type { RelayOutcome, RelaySource } from '../../ports/image-relay.ts';
import { holdBack } from './hold-back.ts';
import { resumingBody, type ResumingRead } from './resuming-body.ts';

/**
 * What is held back until the digest is known: more than any trailer of gzip, xz or zstd, so that no
 * reader can think that it is through.
 */
const heldBytes = 1024 * 1024;

/** One request for the image. */
export interface HandingOn {
  readonly source: RelaySource;
  readonly read: Omit<ResumingRead, 'onResume' | 'url'>;
  readonly response: ServerResponse;
  readonly tell: (change: Partial<RelayOutcome>) => void;
}

/** Answers a request with the image; when something is wrong with it, the connection is cut. */
export async function handOn({ source, read, response, tell }: HandingOn): Promise<void> {
  const hash = createHash('sha256');
  let bytes = 0;
  let resumed = 0;
  try {
    const opened = await read.web.open(source.url, { signal: read.signal });
    response.writeHead(200, {
      'content-type': 'application/octet-stream',
      ...(opened.bytes === undefined ? {} : { 'content-length': opened.bytes }),
    });
    const body = resumingBody(opened, {
      ...read,
      url: source.url,
      onResume: () => tell({ resumed: ++resumed }),
    });
    const counted = hashed(body, (piece) => {
      hash.update(piece);
      bytes += piece.length;
      tell({ bytes });
    });
    const check = (): void => {
      const sha256 = hash.digest('hex');
      tell({ sha256 });
      if (source.sha256 !== undefined && source.sha256 !== sha256) {
        throw wrongDigest(opened.origin, source.sha256, sha256);
      }
    };
    await pipeline(Readable.from(holdBack(counted, { bytes: heldBytes, check })), response);
  } catch (error) {
    // Whatever else goes wrong is the reader going away, which is no fault of the image.
    if (error instanceof AgentError) tell({ failure: error });
    if (!response.headersSent) response.writeHead(502).end();
    else response.destroy();
  }
}

async function* hashed(
  body: AsyncIterable<Uint8Array>,
  take: (piece: Uint8Array) => void,
): AsyncGenerator<Uint8Array> {
  for await (const piece of body) {
    take(piece);
    yield piece;
  }
}

const wrongDigest = (origin: string, expected: string, actual: string): AgentError =>
  imageRelayFailure('image.wrong-digest', `${origin} has another sha256 than expected`, {
    context: { origin, expected, actual },
  });
