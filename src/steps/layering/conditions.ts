import { asAgentError } from '../../engine/failures.ts';
import type { StepScope } from '../step.ts';
import type { BuildRequest, PublishedImage, PublishedImages } from './facts.ts';

interface Requested {
  readonly request: BuildRequest;
}

interface Published extends Requested {
  readonly published: PublishedImages;
}

/** Why a step of the lane has nothing to do, where nothing is to be built. */
export const unlessRequested = ({ request }: Requested): string | undefined =>
  request.kind === 'on' ? undefined : request.why;

/**
 * Why nothing is copied, where nothing is to be built or there is no registry for it on this host.
 */
export const unlessStaged = (
  needs: Requested & { readonly registry: { readonly kind: 'running' } | ReleaseFallback },
): string | undefined =>
  unlessRequested(needs) ?? (needs.registry.kind === 'release' ? needs.registry.why : undefined);

/** Why nothing is changed in what masters are served. */
export const unlessServed = ({ request, published }: Published): string | undefined =>
  unlessRequested({ request }) ?? (published.kind === 'release' ? published.why : undefined);

/** The pool that this host, too, will belong to. */
export const mastersPool = 'master';

/** Pools of nodes that join before this host leaves. */
const earlyPools: readonly string[] = [mastersPool, 'arbiter'];

/** Whether nodes of a pool join before this host leaves. */
export const isEarlyPool = (pool: string): boolean => earlyPools.includes(pool);

/** Why no node boots straight into an image before this host leaves, or undefined when some do. */
export function whyNotServed(
  request: BuildRequest,
  published: PublishedImages,
): string | undefined {
  const why = unlessServed({ request, published });
  if (why !== undefined || controlPlaneImages(published).length > 0) return why;
  return 'no OS image was built for the control plane';
}

/** The images of the pools that join before this host leaves. */
export const controlPlaneImages = (published: PublishedImages): readonly PublishedImage[] =>
  published.kind === 'release' ? [] : published.images.filter(({ pool }) => isEarlyPool(pool));

/** The image of the masters, where there is one. */
export const mastersImage = (published: PublishedImages): PublishedImage | undefined =>
  controlPlaneImages(published).find(({ pool }) => pool === mastersPool);

/** The operating system of the release is used, and why. */
export interface ReleaseFallback {
  readonly kind: 'release';
  readonly why: string;
}

/**
 * Gives what `run` gives. Where it fails and `layering.failurePolicy` is `fallback-stock`, the
 * operating system of the release is used instead, with a warning. A step that was stopped did not
 * fail.
 */
export async function withReleaseFallback<T>(
  { config, signal, note }: Pick<StepScope<never>, 'config' | 'signal' | 'note'>,
  run: () => Promise<T>,
): Promise<T | ReleaseFallback> {
  try {
    return await run();
  } catch (error) {
    signal.throwIfAborted();
    if (config.layering.failurePolicy !== 'fallback-stock') throw error;
    const { code, message, hint } = asAgentError(error);
    note('warn', 'the OS image of the release is used instead of a built one', {
      code,
      reason: message,
      hint,
    });
    return { kind: 'release', why: `${code}: ${message}` };
  }
}
