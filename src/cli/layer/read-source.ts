import { readFile } from 'node:fs/promises';
import { configFailure } from '../../config/failures.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { readObjects, type SourceFile, type SourceObject } from '../../layering/source-object.ts';

/**
 * Reads a file that was named on the line.
 * @throws AgentError `config.file-not-read`
 */
export async function readSource(path: string): Promise<SourceFile> {
  try {
    return { path, text: await readFile(path, 'utf8') };
  } catch (cause) {
    throw configFailure('config.file-not-read', `${path} cannot be read`, {
      cause,
      context: { file: path },
    });
  }
}

/**
 * The one object of a kind in a file that may hold others too; without a kind, the one that is there.
 * @throws AgentError `config.file-not-read`, `layering.malformed-file`, `layering.wrong-object`
 */
export async function readOne(path: string, kind?: string): Promise<SourceObject> {
  const objects = readObjects(await readSource(path));
  const found = objects.filter(({ value }) => kind === undefined || value['kind'] === kind);
  const [first, second] = found;
  const wanted = kind ?? 'object';
  if (first === undefined) {
    const [other] = objects;
    const place = other === undefined ? path : other.place(['kind']);
    const problem = other === undefined ? 'is empty' : `is of another kind`;
    throw layeringFailure(
      'layering.wrong-object',
      `${place}: a ${wanted} is expected, this ${problem}`,
    );
  }
  if (second === undefined) return first;
  throw layeringFailure(
    'layering.wrong-object',
    `${second.place([])}: there is more than one ${wanted} in the file; give a file with one`,
  );
}
