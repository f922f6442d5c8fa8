import type { PollResult, Until, Watch } from '../../engine/wait.ts';
import { hours, type Millis, seconds } from '../../model/duration.ts';
import { gapIn } from '../../ports/kube-failures.ts';
import {
  type Kube,
  type KubeObject,
  type KubeRef,
  type KubeSelection,
  type KubeView,
  selectionOf,
} from '../../ports/kube.ts';

/** The service fails a cluster after this time (assisted-service, INSTALLATION_TIMEOUT). */
export const longestWait = hours(24);

/** Follows something for a wait: its latest view, and a watch that notifies after each change. */
export function latestOf<View>(
  first: View,
  follow: (seen: (view: View) => void, signal: AbortSignal) => Promise<void>,
) {
  let latest = first;
  const watch: Watch = (changed, signal) =>
    follow((view) => {
      latest = view;
      changed();
    }, signal);
  return { view: (): View => latest, watch };
}

/** A followed selection. */
type FollowedSelection = ReturnType<typeof latestOf<KubeView>>;

/** Follows a selection for a wait. */
export const followed = (kube: Kube, selection: KubeSelection): FollowedSelection =>
  latestOf<KubeView>({ isSynced: false, objects: [], changes: [] }, (seen, signal) =>
    kube.follow(selection, seen, signal),
  );

/** Follows one object; the view contains it or is empty. */
export const followedOne = (kube: Kube, ref: KubeRef): FollowedSelection =>
  followed(kube, selectionOf(ref));

/**
 * Waits on followed objects; while the watch has a gap, the status of the wait describes the gap.
 */
export const untilSeen =
  (
    until: Until,
    { view, watch }: FollowedSelection,
    { every = seconds(30), within = longestWait }: { every?: Millis; within?: Millis } = {},
  ) =>
  <T>(
    sentence: string,
    poll: (objects: readonly KubeObject[]) => PollResult<T> | Promise<PollResult<T>>,
  ): Promise<T> =>
    until(
      sentence,
      () => {
        const gap = gapIn(view());
        return gap === undefined ? poll(view().objects) : { status: gap };
      },
      { watch, every, within },
    );

/** Combines several watches into one. */
export const combineWatches =
  (...watches: readonly Watch[]): Watch =>
  async (changed, signal) => {
    await Promise.all(watches.map((watch) => watch(changed, signal)));
  };

/** The first gap in the followed selections. */
export const gapAmong = (...all: readonly FollowedSelection[]): string | undefined =>
  all.map(({ view }) => gapIn(view())).find((gap) => gap !== undefined);

/** Follows a selection for a wait that sets no status before the first view. */
export function fromFirstView(kube: Kube, selection: KubeSelection) {
  const { view, watch: watchAll } = followed(kube, selection);
  const opened = Promise.withResolvers<undefined>();
  const watch: Watch = async (changed, signal) => {
    const open = (): void => {
      opened.resolve(undefined);
      changed();
    };
    try {
      await watchAll(open, signal);
    } finally {
      opened.resolve(undefined);
    }
  };
  return {
    watch,
    /** The latest view; waits for the first one, or for the end of the watch. */
    view: async (): Promise<KubeView> => {
      await opened.promise;
      return view();
    },
  };
}
