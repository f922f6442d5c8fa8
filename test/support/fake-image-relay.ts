import type { ImageRelay, RelayOutcome, RelaySource } from '../../src/ports/image-relay.ts';

/** A relay that hands nothing on and tells what a test wants. */
export interface FakeImageRelay extends ImageRelay {
  /** What was to be handed on, in order. */
  readonly served: readonly RelaySource[];
  /** How many of them are still open. */
  readonly open: () => number;
}

/** A relay whose images come to the outcome that is given. */
export function fakeImageRelay(outcome: Partial<RelayOutcome> = {}): FakeImageRelay {
  const served: RelaySource[] = [];
  let isOpen = 0;
  return {
    served,
    open: () => isOpen,
    serve: async (source, { signal }) => {
      await Promise.resolve();
      signal.throwIfAborted();
      served.push(source);
      isOpen += 1;
      return {
        url: `http://127.0.0.1:40000/image-${served.length}`,
        outcome: () => ({ isAsked: true, bytes: 0, resumed: 0, ...outcome }),
        close: () => {
          isOpen -= 1;
          return Promise.resolve();
        },
      };
    },
  };
}
