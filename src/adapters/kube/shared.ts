import type { Kube, KubeSelection, KubeView } from '../../ports/kube.ts';

/** A selection that several follow. */
interface Shared {
  readonly followers: Set<(view: KubeView) => void>;
  /** Ends it for all. */
  readonly stop: AbortController;
  readonly ended: Promise<void>;
  latest: KubeView | undefined;
}

/**
 * Makes all who follow the same selection share one list and watch while anyone follows it. Who comes later sees the
 * latest view at once. What `seen` throws ends the following of that one alone.
 */
export function sharedFollows(follow: Kube['follow']): Kube['follow'] {
  const all = new Map<string, Shared>();

  const open = (key: string, selection: KubeSelection): Shared => {
    const stop = new AbortController();
    const followers: Shared['followers'] = new Set();
    const show = (view: KubeView): void => {
      shared.latest = view;
      for (const follower of followers) follower(view);
    };
    const ended = Promise.resolve().then(() => follow(selection, show, stop.signal));
    const shared: Shared = { followers, stop, ended, latest: undefined };
    const forget = (): void => {
      if (all.get(key) === shared) all.delete(key);
    };
    ended.then(forget, forget);
    all.set(key, shared);
    return shared;
  };

  return async (selection, seen, signal) => {
    if (signal.aborted) return;
    const key = keyOf(selection);
    const shared = all.get(key) ?? open(key, selection);
    const left = Promise.withResolvers<undefined>();
    const follower = (view: KubeView): void => {
      try {
        seen(view);
      } catch (error) {
        shared.followers.delete(follower);
        left.reject(error);
      }
    };
    const leave = (): void => {
      shared.followers.delete(follower);
      left.resolve(undefined);
    };
    signal.addEventListener('abort', leave, { once: true });
    shared.followers.add(follower);
    if (shared.latest !== undefined) follower(shared.latest);
    try {
      await Promise.race([left.promise, shared.ended]);
    } finally {
      signal.removeEventListener('abort', leave);
      shared.followers.delete(follower);
      if (shared.followers.size === 0) {
        if (all.get(key) === shared) all.delete(key);
        shared.stop.abort(new Error('nobody follows it any more'));
        await shared.ended.catch(() => undefined);
      }
    }
  };
}

const keyOf = ({ kind, namespace, labelSelector, fieldSelector }: KubeSelection): string =>
  JSON.stringify([
    [kind.group, kind.version, kind.plural],
    [namespace, labelSelector, fieldSelector],
  ]);
