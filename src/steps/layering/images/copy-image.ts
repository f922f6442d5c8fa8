import {
  copyImageArgv,
  digestArgv,
  type ImageAt,
} from '../../../layering/build/container-tools.ts';
import { digestOf } from '../../../lib/image-name.ts';
import { layeringFailure } from '../../../layering/failures.ts';
import { minutes } from '../../../model/duration.ts';
import { withHeartbeat } from '../../heartbeat.ts';
import { type ImageWork, withTries } from './work.ts';

/** Gigabytes over a slow line. */
const longestCopy = minutes(30);

/** A question to a registry. */
export const longestQuestion = minutes(2);

/** A copy from registry to registry. */
export interface ImageCopy {
  readonly what: string;
  readonly from: ImageAt;
  readonly to: ImageAt;
  /** What must arrive. */
  readonly digest: string;
}

/**
 * Copies an image and asks the registry what it has made of it.
 * @throws AgentError `layering.registry-unreachable` after three attempts, `layering.registry-denied`,
 * `layering.copy-failed`, `layering.digest-changed`
 */
export async function copyImage(work: ImageWork, copy: ImageCopy): Promise<void> {
  const { host, signal, env } = work;
  const { what, from, to } = copy;
  await withTries(work, { what, otherwise: 'layering.copy-failed' }, async () => {
    await withHeartbeat(what, work, () =>
      host.exec(copyImageArgv({ from, to }), { signal, env, limit: longestCopy }),
    );
    await requireDigest(work, { ...to, digest: copy.digest });
  });
}

/**
 * Asks a registry under which digest it has an image, by its tag and by the digest itself.
 * @throws AgentError `layering.digest-changed`, `command.*`
 */
export async function requireDigest(
  work: ImageWork,
  { digest, ...at }: ImageAt & { readonly digest: string },
): Promise<void> {
  const found = await digestAt(work, at);
  if (found === digest) return;
  throw layeringFailure(
    'layering.digest-changed',
    `${at.image} is ${found} in its registry and was ${digest} when it was sent`,
    { context: { image: at.image, sent: digest, found } },
  );
}

/**
 * The digest that a registry has for a name.
 * @throws AgentError `command.*`
 */
export async function digestAt({ host, signal, env }: ImageWork, at: ImageAt): Promise<string> {
  const { stdout } = await host.exec(digestArgv(at), { signal, env, limit: longestQuestion });
  return digestOf(`@${stdout}`) ?? stdout;
}
