import { readUpTo } from '../../lib/read-up-to.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import { seconds } from '../../model/duration.ts';
import type { StepScope } from '../step.ts';
import { imageFailure } from './failures.ts';
import { imageInStream, parseStream, type StreamImage } from './stream.ts';
import { architectureArgv } from '../host-commands.ts';

/** The metadata of a release has less than 1 MiB; nothing that is larger than this is one. */
const largestBytes = 16 * 1024 ** 2;

/** A stream, and the disk that its image is for. */
export interface StreamSearch {
  /** A file on the host or an http(s) URL. */
  readonly location: string;
  readonly sectorBytes: number;
}

/** The image of a stream for this host, with the host's architecture as `uname -m` prints it. */
export async function findInStream(
  scope: StepScope<'host' | 'web'>,
  { location, sectorBytes }: StreamSearch,
): Promise<StreamImage & { readonly architecture: string }> {
  const { host, signal } = scope;
  const stream = parseStream(await readStream(scope, location), shownUrl(location));
  const { stdout: architecture } = await host.exec(architectureArgv, {
    signal,
    limit: seconds(10),
  });
  return { ...imageInStream(stream, { architecture, sectorBytes }), architecture };
}

async function readStream(
  { host, web, signal }: StepScope<'host' | 'web'>,
  location: string,
): Promise<string> {
  if (!/^https?:\/\//.test(location)) {
    const text = await host.readText(location, signal);
    if (text !== undefined) return text;
    throw imageFailure('image.file-missing', `${location} is not on the host`, {
      context: { path: location },
    });
  }
  const { body, origin } = await web.open(location, { signal });
  const bytes = await readUpTo(body, largestBytes);
  if (bytes !== undefined) return Buffer.from(bytes).toString('utf8');
  throw imageFailure('image.stream-unreadable', `${shownUrl(origin)} sends more than 16 MiB`, {
    context: { origin: shownUrl(origin) },
  });
}
