import type { Watch } from '../../engine/wait.ts';
import { hours } from '../../model/duration.ts';
import type { Kube, KubeRef, KubeSelection, KubeView } from '../../ports/kube.ts';

/** The service itself gives a cluster up after this time (assisted-service, INSTALLATION_TIMEOUT). */
export const longestWait = hours(24);

/** A selection whose latest view can be looked at while its watch runs. */
export interface Followed {
  readonly view: () => KubeView;
  readonly watch: Watch;
}

/** Follows a selection for a wait; the watch rings after each change of the view. */
export function followed(kube: Kube, selection: KubeSelection): Followed {
  let latest: KubeView = { isSynced: false, objects: [] };
  return {
    view: () => latest,
    watch: (changed, signal) =>
      kube.follow(
        selection,
        (view) => {
          latest = view;
          changed();
        },
        signal,
      ),
  };
}

/** Follows one object; the view holds it alone, or nothing. */
export const followedOne = (kube: Kube, { kind, name, namespace }: KubeRef): Followed =>
  followed(kube, {
    kind,
    ...(namespace === undefined ? {} : { namespace }),
    fieldSelector: `metadata.name=${name}`,
  });

/** Several watches as one. */
export const together =
  (...watches: readonly Watch[]): Watch =>
  async (changed, signal) => {
    await Promise.all(watches.map((watch) => watch(changed, signal)));
  };

/** Why a view may tell less than there is; undefined when it is whole. */
export function gapIn({ isSynced, trouble }: KubeView): string | undefined {
  if (trouble !== undefined) return `the API server does not answer (${trouble.code})`;
  return isSynced ? undefined : 'the API server does not show them yet';
}

/** The first gap in what is followed. */
export const gapAmong = (...all: readonly Followed[]): string | undefined =>
  all.map(({ view }) => gapIn(view())).find((gap) => gap !== undefined);
