import { createHash } from 'node:crypto';
import { lstat, mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Environment } from '../../config/environment.ts';
import type { ImageStore } from '../../layering/image/builder.ts';
import { imageFailure } from '../../layering/image/failures.ts';

/** podman takes no longer name for its run root. */
const longestRun = 50;

/**
 * The store of images in a folder. Its run root is the same each time, as podman keeps its name in the store, and is
 * left where it is: another command may be at work in the same store.
 */
export function storeIn(folder: string, environment: Environment): ImageStore {
  const storage = resolve(folder);
  const sum = createHash('sha256').update(storage).digest('hex').slice(0, 12);
  const { XDG_RUNTIME_DIR: session = '' } = environment;
  const places = [
    ...(session === '' ? [] : [join(session, 'bootwright', sum)]),
    join(storage, 'run'),
  ];
  const run = places.find(({ length }) => length <= longestRun);
  return { storage, run: run ?? join(tmpdir(), `bootwright-${process.getuid?.() ?? 0}-${sum}`) };
}

/** A link has these bits as well. */
const writableByOthers = 0o022;

/**
 * Makes the run root, which may lie in a folder where everybody can write.
 * @throws AgentError `layering.store-taken` when it belongs to somebody else
 */
export async function prepareRunRoot({ run }: ImageStore): Promise<void> {
  await mkdir(run, { recursive: true, mode: 0o700 });
  const { uid, mode } = await lstat(run);
  const isOurs = process.getuid === undefined || uid === process.getuid();
  if (isOurs && (mode & writableByOthers) === 0) return;
  throw imageFailure('layering.store-taken', `${run} belongs to somebody else`);
}
