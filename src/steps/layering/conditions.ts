import { asAgentError } from '../../engine/failures.ts';
import type { StepScope } from '../step.ts';
import type { BuildRequest, PublishedPool, PublishedPools, Release } from './facts.ts';

/** The reason to skip a step if no image is requested. */
export const unlessRequested = ({
  request,
}: {
  readonly request: BuildRequest;
}): string | undefined => (request.kind === 'on' ? undefined : request.why);

/** The reason why the OS image of the release is used; undefined if it is not. */
export const whyRelease = (
  fact: Release | { readonly kind: 'pools' | 'running' },
): string | undefined => (fact.kind === 'release' ? fact.why : undefined);

/** The pool that this host will belong to. */
export const mastersPool = 'master';

/** Whether nodes of a pool join before this host leaves. */
export const isEarlyPool = (pool: string): boolean => pool === mastersPool || pool === 'arbiter';

/** The pools whose nodes join before this host leaves. */
export const earlyPools = (published: PublishedPools): readonly PublishedPool[] =>
  published.kind === 'release' ? [] : published.pools.filter(({ pool }) => isEarlyPool(pool));

/** The pool of the masters, if it has an image. */
export const mastersOf = (published: PublishedPools): PublishedPool | undefined =>
  earlyPools(published).find(({ pool }) => pool === mastersPool);

/** The reason why no node boots a built image before this host leaves; undefined if one does. */
export const whyNotServed = (published: PublishedPools): string | undefined =>
  whyRelease(published) ??
  (earlyPools(published).length > 0 ? undefined : 'no OS image was built for the control plane');

/**
 * Returns the result of `run`. If it fails and `layering.failurePolicy` is `fallback-stock`, the
 * operating system of the release is used instead, with a warning. A stopped step has not failed.
 * @param consequence what happens instead, for the warning
 */
export async function withReleaseFallback<T>(
  scope: Pick<StepScope<never>, 'config' | 'signal' | 'note'>,
  run: () => Promise<T>,
  consequence = `no built OS image can be used; ${installsRelease}`,
): Promise<T | Release> {
  try {
    return await run();
  } catch (error) {
    scope.signal.throwIfAborted();
    if (scope.config.layering.failurePolicy !== 'fallback-stock') throw error;
    return useReleaseImage(scope, error, consequence);
  }
}

/** The end of a warning that no built image is used. */
export const installsRelease = 'the OS image of the release is installed';

/** Uses the operating system of the release because of a failure, with a warning. */
export function useReleaseImage(
  { signal, note }: Pick<StepScope<never>, 'signal' | 'note'>,
  error: unknown,
  warning: string,
): Release {
  signal.throwIfAborted();
  const { code, message: reason, hint } = asAgentError(error);
  note('warn', warning, { code, reason, hint });
  return { kind: 'release', why: `${code}: ${reason}` };
}
