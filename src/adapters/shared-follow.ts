/** Follows a selection until the signal aborts; calls `seen` with each view of it. */
export type Follow<Selection, View> = (
  selection: Selection,
  seen: (view: View) => void,
  signal: AbortSignal,
) => Promise<void>;

/** State that several followers share. */
interface SharedState<View> {
  readonly followers: Set<(view: View) => void>;
  /** Ends the shared following. */
  readonly stop: AbortController;
  readonly ended: Promise<void>;
  latest: View | undefined;
}

/**
 * Makes followers with the same key share one following while there are any. A new follower gets
 * the latest view at once. An error of `seen` ends only its own follower.
 */
export function sharedFollows<Selection, View>(
  follow: Follow<Selection, View>,
  keyOf: (selection: Selection) => string,
): Follow<Selection, View> {
  const all = new Map<string, SharedState<View>>();

  const open = (key: string, selection: Selection): SharedState<View> => {
    const stop = new AbortController();
    const followers: SharedState<View>['followers'] = new Set();
    const show = (view: View): void => {
      shared.latest = view;
      for (const follower of followers) follower(view);
    };
    const ended = Promise.resolve().then(() => follow(selection, show, stop.signal));
    const shared: SharedState<View> = { followers, stop, ended, latest: undefined };
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
    const follower = (view: View): void => {
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
