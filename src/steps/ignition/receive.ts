import { createHash } from 'node:crypto';
import { readUpTo } from '../../lib/read-up-to.ts';
import { shownUrl } from '../../lib/shown-url.ts';
import type { Download } from '../../ports/inventory.ts';
import { ignitionSourceFailure } from './failures.ts';

/** Bootstrap configs reach several MB; nothing that is larger than this is one. */
const LARGEST_BYTES = 64 * 1024 * 1024;

/** A config that came whole. */
export interface ReceivedConfig {
  readonly bytes: Uint8Array;
  /** Lower-case hexadecimal. */
  readonly sha256: string;
}

/**
 * Reads a download to its end and holds it against its announced size and the expected digest.
 * @throws AgentError `ignition.cut`, `ignition.wrong-digest`, `ignition.oversized`, and what the
 * body fails with
 */
export async function receive(
  download: Download,
  expected: { readonly sha256: string },
): Promise<ReceivedConfig> {
  const origin = shownUrl(download.origin);
  const bytes = await readUpTo(download.body, LARGEST_BYTES);
  if (bytes === undefined) {
    throw ignitionSourceFailure('ignition.oversized', `${origin} sends more than 64 MiB`, {
      context: { origin },
    });
  }
  const { length } = bytes;
  if (download.bytes !== undefined && download.bytes !== length) {
    throw ignitionSourceFailure(
      'ignition.cut',
      `${origin} announced ${download.bytes} bytes and sent ${length}`,
      { context: { origin, announced: download.bytes, received: length } },
    );
  }
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  if (expected.sha256 !== '' && expected.sha256 !== sha256) {
    throw ignitionSourceFailure('ignition.wrong-digest', `${origin} has another sha256`, {
      context: { origin, expected: expected.sha256, actual: sha256 },
    });
  }
  return { bytes, sha256 };
}
