import type { AgentError } from '../../model/failure.ts';
import type { KubeView } from '../../ports/kube.ts';
import type { Listing } from './list.ts';
import { keptView } from './view.ts';
import type { WatchEvent } from './watch-event.ts';

/** An event that changes the view, or the point of history at least. */
export type Happening = Exclude<WatchEvent, { readonly type: 'error' }>;

/** What is known of a selection that is followed; each change of it is shown to `seen`. */
export interface Followed {
  /** Where a watch goes on; undefined when a list is needed first. */
  readonly version: () => string | undefined;
  readonly listed: (listing: Listing) => void;
  readonly happened: (event: Happening) => void;
  /** The history is lost; what was seen stays until the next list. */
  readonly lose: () => void;
  /** The kind is not served: an empty view that is not synced. */
  readonly missing: () => void;
  /** The server cannot be reached, or answers again (undefined). */
  readonly trouble: (trouble: AgentError | undefined) => void;
}

/** Nothing is known yet, and nothing is shown before something is. */
export function followed(seen: (view: KubeView) => void): Followed {
  const view = keptView();
  let version: string | undefined;
  let trouble: AgentError | undefined;
  let isShown = false;
  const show = (): void => {
    isShown = true;
    seen(view.show(trouble));
  };
  return {
    version: () => version,
    listed: (listing) => {
      version = listing.version;
      const hadTrouble = trouble !== undefined;
      trouble = undefined;
      if (view.replace(listing.objects) || hadTrouble) show();
    },
    happened: (event) => {
      if (event.type === 'bookmark') {
        if (event.version !== '') version = event.version;
        return;
      }
      version = event.object.metadata.resourceVersion ?? version;
      if (event.type === 'put') view.put(event.object);
      else view.drop(event.object);
      show();
    },
    lose: () => {
      version = undefined;
    },
    missing: () => {
      const isNews = view.isSynced() || trouble !== undefined || !isShown;
      version = undefined;
      trouble = undefined;
      view.forget();
      if (isNews) show();
    },
    trouble: (now) => {
      if (now?.code === trouble?.code && now?.message === trouble?.message) return;
      trouble = now;
      show();
    },
  };
}
