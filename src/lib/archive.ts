import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { extract, pack } from 'tar-stream';

/** A file of an archive. */
export interface ArchivedFile {
  /** Without a folder. */
  readonly name: string;
  readonly text: string;
  readonly mode: number;
}

/**
 * Packs files into a tar archive that is compressed by gzip; all of it is in memory. Logs compress
 * in milliseconds.
 */
export async function packArchive(
  files: readonly ArchivedFile[],
  time: number,
): Promise<Uint8Array> {
  const archive = pack();
  for (const { name, mode, text } of files)
    archive.entry({ name, mode, mtime: new Date(time) }, text);
  archive.finalize();
  return gzipSync(await buffer(archive));
}

/** What an archive may hold. */
const mostFiles = 64;
const mostBytes = 32 * 1024 * 1024;

/** A name that stands for a file and nothing else: no folder, no link, nothing hidden. */
const plainName = /^\w[\w.-]{0,99}$/;

/**
 * Reads an archive that anybody may have made; nothing of it is written anywhere.
 * @throws Error where it is none, holds too much, or another thing than files with plain names
 */
export async function readArchive(bytes: Uint8Array): Promise<ReadonlyMap<string, string>> {
  const whole = gunzipSync(bytes, { maxOutputLength: mostBytes });
  const files = new Map<string, string>();
  const reader = extract();
  reader.end(whole);
  for await (const entry of reader) {
    const { name, type } = entry.header;
    if (type !== 'file' || !plainName.test(name))
      throw new RangeError(`it holds ${JSON.stringify(name.slice(0, 100))}, a ${type}`);
    if (files.size === mostFiles) throw new RangeError(`it holds more than ${mostFiles} files`);
    files.set(name, (await buffer(entry)).toString('utf8'));
  }
  return files;
}
