import { readFile } from 'node:fs/promises';
import { configFailure } from '../../config/failures.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { flawFailure, isFlaw } from '../../layering/source-flaw.ts';
import { readListed } from '../../layering/source-list.ts';
import type { SourceFile, SourceObject } from '../../layering/source-object.ts';
import { decodeSource } from '../../layering/source-text.ts';

/**
 * Reads a file that was named on the line.
 * @param wanted what it should hold, for the message
 * @throws AgentError `config.file-not-read`, `layering.malformed-file` for what is no UTF-8
 */
export async function readSource(path: string, wanted?: string): Promise<SourceFile> {
  const read = decodeSource(path, await readBytes(path), wanted);
  if (isFlaw(read)) throw flawFailure(read);
  return read;
}

async function readBytes(path: string): Promise<Uint8Array> {
  try {
    return await readFile(path);
  } catch (cause) {
    throw configFailure('config.file-not-read', `${path} cannot be read`, {
      cause,
      context: { file: path },
    });
  }
}

const reasons: Readonly<Record<string, string>> = {
  EACCES: 'permission is denied',
  EISDIR: 'it is a folder',
  ENOENT: 'there is no such file',
  ENOTDIR: 'a part of its path is no folder',
};

/** Why a file could not be read, in a few words. */
export function reasonNotRead(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  return reasons[code] ?? (error instanceof Error ? error.message : String(error));
}

/**
 * The one object of a kind in a file that may hold others too, a List among them; without a kind, the one that is
 * there.
 * @throws AgentError `config.file-not-read`, `layering.malformed-file`, `layering.wrong-object`
 */
export async function readOne(path: string, kind?: string): Promise<SourceObject> {
  const wanted = kind === undefined ? 'an object' : `a ${kind}`;
  const objects = readListed(await readSource(path, wanted), wanted).map((read) => {
    if (isFlaw(read)) throw flawFailure(read);
    return read;
  });
  const found = objects.filter(({ value }) => kind === undefined || value['kind'] === kind);
  const [first, second] = found;
  if (first === undefined) {
    const [other] = objects;
    const place = other === undefined ? path : other.place(['kind']);
    const problem = other === undefined ? 'is empty' : `is of another kind`;
    throw layeringFailure(
      'layering.wrong-object',
      `${place}: ${wanted} is expected, this ${problem}`,
    );
  }
  if (second === undefined) return first;
  throw layeringFailure(
    'layering.wrong-object',
    `${second.place([])}: there is more than one ${kind ?? 'object'} in the file; give a file with one`,
  );
}
