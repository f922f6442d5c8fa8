import { nodes } from '../../cluster/kinds.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Kube } from '../../ports/kube.ts';
import { type Informer, informer } from '../../reconcile/informer.ts';

/** The API of a cluster that was installed, by one of its kubeconfigs. */
export type OpenGuest = (kubeconfig: string) => Kube & { readonly close: () => Promise<void> };

/** A guest that is followed. */
export interface Guest {
  readonly kube: Kube;
  readonly nodes: Informer;
  /** Why its API does not answer; undefined while it does. */
  readonly gap: () => string | undefined;
}

/** A guest by the control plane that it is of. */
interface WantedGuest {
  readonly uid: string;
  readonly kubeconfig: string;
}

/** The guests of all control planes. */
export interface Guests {
  /** The guest of a control plane, followed from the first call on, and again where it is another one of the name. */
  readonly follow: (key: string, wanted: WantedGuest) => Guest;
  readonly get: (key: string) => Guest | undefined;
  readonly close: (key: string) => Promise<void>;
  readonly closeAll: () => Promise<void>;
}

interface Followed extends Guest {
  readonly uid: string;
  readonly end: () => Promise<void>;
}

/** Follows guests; `changed` hears the key of each that changes. */
export function guestsOf(
  { open, clock }: { readonly open: OpenGuest; readonly clock: Clock },
  changed: (key: string) => void,
): Guests {
  const followed = new Map<string, Followed>();
  const close = async (key: string): Promise<void> => {
    const guest = followed.get(key);
    followed.delete(key);
    await guest?.end();
  };
  const start = (key: string, { uid, kubeconfig }: WantedGuest): Followed => {
    const kube = open(kubeconfig);
    const stop = new AbortController();
    const nodeStore = informer({ kube, clock }, { kind: nodes });
    const stores = [nodeStore];
    for (const store of stores) {
      store.onChange(() => changed(key));
      store.onGap(() => changed(key));
    }
    // A kubeconfig that cannot be read shows as a gap.
    const runs = stores.map((store) => store.run(stop.signal).catch(() => undefined));
    return {
      ...{ kube, uid, nodes: nodeStore },
      gap: () => nodeStore.gap()?.reason,
      end: async () => {
        stop.abort(new Error('the guest is not followed any more'));
        await Promise.all(runs);
        await kube.close();
      },
    };
  };
  return {
    follow: (key, wanted) => {
      const before = followed.get(key);
      if (before?.uid === wanted.uid) return before;
      void close(key);
      const guest = start(key, wanted);
      followed.set(key, guest);
      return guest;
    },
    get: (key) => followed.get(key),
    close,
    closeAll: async () => {
      await Promise.all([...followed.keys()].map(close));
    },
  };
}
