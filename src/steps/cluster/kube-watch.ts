import type { Watch } from '../../engine/wait.ts';
import { hours } from '../../model/duration.ts';
import type { AgentError } from '../../model/failure.ts';
import type { Clock } from '../../ports/clock.ts';
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

/** A selection whose first view is waited for. */
interface FirstView {
  readonly watch: Watch;
  /** The latest view; the first as soon as there is one, or the watch has ended without. */
  readonly view: () => Promise<KubeView>;
}

/** Follows a selection for a wait that has nothing to tell before there is a first view. */
export function fromFirstView(kube: Kube, selection: KubeSelection): FirstView {
  const { view, watch } = followed(kube, selection);
  const opened = Promise.withResolvers<undefined>();
  return {
    view: async () => {
      await opened.promise;
      return view();
    },
    watch: async (changed, signal) => {
      const see = (): void => {
        opened.resolve(undefined);
        changed();
      };
      try {
        await watch(see, signal);
      } finally {
        opened.resolve(undefined);
      }
    },
  };
}

/**
 * Says since when the API server is in trouble. The text stays the same as long as the trouble is of
 * one kind, although each attempt may fail in another way.
 */
export function apiTroubleOf(
  clock: Clock,
): (trouble: AgentError | undefined) => string | undefined {
  let known: { readonly code: string; readonly text: string } | undefined;
  return (trouble) => {
    if (trouble === undefined) known = undefined;
    else if (trouble.code !== known?.code) {
      const time = new Date(clock.now()).toISOString().slice(11, 19);
      const what =
        trouble.code === 'kube.no-credentials'
          ? 'there are no credentials for the cluster'
          : 'the API server does not answer';
      known = { code: trouble.code, text: `${what} since ${time} UTC: ${trouble.message}` };
    }
    return known?.text;
  };
}
