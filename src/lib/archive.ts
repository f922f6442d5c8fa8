import { buffer } from 'node:stream/consumers';
import { gunzipSync, gzipSync } from 'node:zlib';
import { extract, pack } from 'tar-stream';

/** A file of an archive. */
export interface ArchivedFile {
  /** File name without a folder. */
  readonly name: string;
  readonly text: string;
  readonly mode: number;
}

/** Packs files into a gzipped tar archive, all in memory. Logs compress in milliseconds. */
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

/** Maximum number of files in an archive. */
const mostFiles = 64;
const mostBytes = 32 * 1024 * 1024;

/** A name of a file only: no folder, no link, no hidden file. */
const plainName = /^\w[\w.-]{0,99}$/;

/**
 * Reads an untrusted archive in memory; writes no file.
 * @throws Error if it is not an archive, is too large, or holds anything but files with plain names
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
