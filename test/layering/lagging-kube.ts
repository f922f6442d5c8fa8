import type { Millis } from '../../src/model/duration.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Kube, KubeKind } from '../../src/ports/kube.ts';

/** A cluster whose watches of one kind tell what happened only after a while; whoever asks is told at once. */
export const laggingKube = (
  { kube, clock }: { readonly kube: Kube; readonly clock: Clock },
  kind: KubeKind,
  lag: Millis,
): Kube => ({
  ...kube,
  follow: (selection, seen, signal) =>
    kube.follow(
      selection,
      selection.kind === kind
        ? (view) => {
            clock.sleep(lag, signal).then(
              () => {
                seen(view);
              },
              () => undefined,
            );
          }
        : seen,
      signal,
    ),
});
