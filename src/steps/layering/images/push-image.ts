import {
  type Builder,
  pushArgv,
  type RegistryAccess,
} from '../../../layering/build/container-tools.ts';
import { digestOf } from '../../../lib/image-name.ts';
import { layeringFailure } from '../../../layering/failures.ts';
import { minutes } from '../../../model/duration.ts';
import { requireDigest } from './copy-image.ts';
import { type ImageWork, withTries } from './work.ts';

/** An image of the store that is to be in a registry. */
export interface ImagePush {
  readonly builder: Builder;
  readonly tag: string;
  /** HOST/PATH:TAG */
  readonly to: string;
  readonly access: RegistryAccess;
  readonly scratch: string;
}

const longestPush = minutes(15);

/**
 * Pushes an image; gives the digest that the registry has for it.
 * @throws AgentError `layering.push-failed`, `layering.registry-unreachable`, `layering.registry-denied`,
 * `layering.digest-changed`
 */
export async function pushImage(
  work: ImageWork,
  { builder, tag, to, access, scratch }: ImagePush,
): Promise<string> {
  const { host, signal, progress, env } = work;
  const digestFile = `${scratch}/digest`;
  progress({ info: 'Pushing OS image' });
  return withTries(work, { what: `pushing ${to}`, otherwise: 'layering.push-failed' }, async () => {
    await host.exec(pushArgv(builder, { ...access, tag, to, digestFile }), {
      signal,
      limit: longestPush,
      env: { ...env, TMPDIR: scratch },
    });
    const digest = digestOf(`@${((await host.readText(digestFile, signal)) ?? '').trim()}`);
    if (digest === undefined) {
      throw layeringFailure('layering.push-failed', `${builder.name} names no digest of ${to}`);
    }
    await requireDigest(work, { ...access, image: to, digest });
    return digest;
  });
}
