import {
  baseTag,
  configArgv,
  type ImageAt,
  rawArgv,
  type RegistryAccess,
} from '../../../layering/build/container-tools.ts';
import { digestOf, repositoryOf } from '../../../lib/image-name.ts';
import { layeringFailure } from '../../../layering/failures.ts';
import { readImageFacts } from '../../../layering/build/verify-image.ts';
import { seconds } from '../../../model/duration.ts';
import { digestInList, goArchitecture, lacksArchitecture } from '../../../os/registry-image.ts';
import { copyImage, digestAt, longestQuestion } from './copy-image.ts';
import { type ImageWork, saidBy, withTries } from './work.ts';
import { architectureArgv } from '../../host-commands.ts';

/** Where the base comes from and goes to. */
export interface BaseCopy {
  readonly base: ImageAt;
  /** Repository that the built image goes to as well; without a tag. */
  readonly repository: string;
  readonly access: RegistryAccess;
}

/**
 * Copies the base image into the repository that the built image is to go to, digests kept. What is pushed there
 * afterwards then keeps the blobs of the base, and a node that has the base pulls nothing of it again. Of a list of
 * manifests only the image for this host is copied.
 * @throws AgentError `layering.base-architecture`, and what `copyImage` throws
 */
export async function copyBaseImage(
  work: ImageWork,
  { base, repository, access }: BaseCopy,
): Promise<void> {
  const what = `copying the base image ${base.image}`;
  const architecture = await architectureOf(work);
  const image = await withTries(work, { what, otherwise: 'layering.copy-failed' }, async () => {
    await requireArchitecture(work, base, architecture);
    return imageFor(work, base, architecture);
  });
  const from = { ...base, image };
  const digest = digestOf(image) ?? (await digestAt(work, from));
  work.progress({ info: 'Copying the base image' });
  const to = { ...access, image: `${repository}:${baseTag(base.image)}` };
  await copyImage(work, { what, from, to, digest });
}

/** The architecture of the host, as Go names it. */
async function architectureOf({ host, signal }: ImageWork): Promise<string> {
  return goArchitecture((await host.exec(architectureArgv, { signal, limit: seconds(20) })).stdout);
}

async function requireArchitecture(
  { host, signal, env }: ImageWork,
  base: ImageAt,
  wanted: string,
): Promise<void> {
  const found = await host
    .exec(configArgv(base), { signal, env, limit: longestQuestion })
    .then(({ stdout }) => readImageFacts(stdout, base.image).architecture)
    .catch((error: unknown) => {
      if (lacksArchitecture(saidBy(error) ?? '')) return 'other architectures alone';
      throw error;
    });
  if (found === wanted) return;
  throw layeringFailure(
    'layering.base-architecture',
    `${base.image} is for ${found}, this host is ${wanted}`,
    { context: { image: base.image, found, host: wanted } },
  );
}

/** The image itself, where the name is that of a list of images for several architectures. */
async function imageFor(
  { host, signal, env }: ImageWork,
  base: ImageAt,
  architecture: string,
): Promise<string> {
  const { stdout } = await host.exec(rawArgv(base), { signal, env, limit: longestQuestion });
  const digest = digestInList(stdout, architecture);
  return digest === undefined ? base.image : `${repositoryOf(base.image)}@${digest}`;
}
