import { ignitionSourceFailure } from '../failures.ts';
import type { IgnitionSource } from './source.ts';

/** A file on the host. */
export const fromFile: IgnitionSource = async ({ host }, { ignition }, { signal }) => {
  const text = await host.readText(ignition.file, signal);
  if (text === undefined) {
    throw ignitionSourceFailure('ignition.file-not-found', `${ignition.file} is not on the host`, {
      context: { path: ignition.file },
    });
  }
  const bytes = new TextEncoder().encode(text);
  return { body: once(bytes), bytes: bytes.length, origin: ignition.file };
};

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes);
}
