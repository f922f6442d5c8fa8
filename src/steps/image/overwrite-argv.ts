import { readOrigin, referenceIn } from '../../os/status.ts';
import { imageFailure } from './failures.ts';

/** Pull secrets of the host. */
export const authFile = '/root/.docker/config.json';

/** GRUB sets it on the first boot; the system itself replaces it, no shell does. */
export const firstBootArgument = '$ignition_firstboot';

/** The source from which an operating system is pulled. */
export interface PullSource {
  /** Pull spec; `os.osImageURL` unless another name has the image nearer. */
  readonly image: string;
  /** File with the pull secret for it. */
  readonly authFile: string;
  /**
   * Folder with certificates, `*.crt`, that are trusted in addition to the certificates of the live
   * system.
   */
  readonly certificates?: string;
}

/** The stateroot of RHCOS. */
export const finalStateroot = 'rhcos';

/** Prints the recorded origin of each ostree deployment on a disk: the source of its updates. */
export const originsArgv = (root: string): readonly string[] => [
  ...['find', `${root}/ostree/deploy/${finalStateroot}/deploy`, '-maxdepth', '1'],
  ...['-name', '*.origin', '-exec', 'cat', '{}', '+'],
];

/** The images in the output of `originsArgv`; deployments of the disk image itself have none. */
export const imagesIn = (stdout: string): readonly string[] =>
  stdout.split('\n').flatMap((line) => {
    const reference = referenceIn(line);
    return reference === undefined ? [] : [readOrigin(reference).spec];
  });

/**
 * Refuses a disk that does not follow an image, or that follows an image in the registry that was
 * only the source of the pull. Another image of an earlier run may remain.
 * @param wanted.image pull spec that one of the deployments must follow
 * @param wanted.source pull spec of the pull: no deployment may follow an image of that registry,
 * unless `image` is there too
 * @throws AgentError `image.wrong-origin`
 */
export function refuseOrigins(
  stdout: string,
  { image, source }: { readonly image: string; readonly source: string },
): void {
  const images = imagesIn(stdout);
  const passing = registryOf(source) === registryOf(image) ? undefined : registryOf(source);
  const wrong = images.filter((found) => registryOf(found) === passing || found === source);
  if (images.includes(image) && wrong.length === 0) return;
  const found = [wrong, images].find((list) => list.length > 0)?.join(', ') ?? 'nothing';
  const what = `the disk would update from ${found} instead of ${image}`;
  throw imageFailure('image.wrong-origin', what, { context: { found, image } });
}

const registryOf = (pullSpec: string): string => pullSpec.split('/')[0] ?? '';
