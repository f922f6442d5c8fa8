import { asAgentError } from '../../../engine/failures.ts';
import {
  type Bounds,
  bundleFolder,
  endOf,
  usualBounds,
  withoutSecretLooks,
} from '../../../layering/log-bundle.ts';
import type { Masker } from '../../../lib/masker.ts';
import type { StepScope } from '../../step.ts';

/** A bundle that is being filled. */
export interface Bundle {
  /**
   * Writes what `read` gives under a name, masked and cut to its bounds. What cannot be read is told in the index
   * instead; what is not there (undefined) is left out without a word, with what an earlier call left in its place.
   */
  readonly add: (name: string, read: () => Promise<string | undefined>) => Promise<void>;
  /** Writes the index, last, under a title. */
  readonly close: (title: string) => Promise<void>;
}

/** Opens the bundle of this host. */
export function openBundle(
  { host, signal }: Pick<StepScope<'host'>, 'host' | 'signal'>,
  { mask }: Pick<Masker, 'mask'>,
  bounds: Bounds = usualBounds,
): Bundle {
  const index: string[] = [];
  let room = bounds.bundle;
  const hide = (text: string): string => withoutSecretLooks(mask(text));
  const write = (name: string, text: string): Promise<unknown> =>
    host.writeFile(`${bundleFolder}/${name}`, text, { signal, mode: 0o600 });
  return {
    add: async (name, read) => {
      try {
        const text = await read();
        if (text === undefined) return;
        // Twice as much is masked as is kept, so that no secret of several lines is cut in two.
        const kept = endOf(hide(endOf(text, 2 * bounds.piece)), Math.min(bounds.piece, room));
        room = Math.max(0, room - kept.length);
        await write(name, kept);
        index.push(`${name}: ${kept.length} of ${text.length} characters`);
      } catch (error) {
        signal.throwIfAborted();
        index.push(hide(`${name}: ${asAgentError(error).message}`));
      }
    },
    close: async (title) => {
      await write('index.txt', `${[title, ...index].join('\n')}\n`);
    },
  };
}
