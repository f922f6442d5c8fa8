import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../src/ports/kube.ts';

/**
 * The objects of a file in `objects`, in which values replace `$(NAME)`.
 * @throws RangeError for a name without a value
 */
export function objectsIn(
  file: string,
  values: Readonly<Record<string, string | number>> = {},
): readonly KubeObject[] {
  const path = join(import.meta.dirname, 'objects', `${file}.yaml`);
  const text = readFileSync(path, 'utf8').replaceAll(/\$\((\w+)\)/g, (_, name: string) => {
    const value = values[name];
    if (value === undefined) throw new RangeError(`${file}.yaml: nothing is given for ${name}`);
    return String(value);
  });
  return [parseAllDocuments(text)].flat().map((document) => document.toJS() as KubeObject);
}

/** The only object of a file in `objects`. */
export function objectIn(...given: Parameters<typeof objectsIn>): KubeObject {
  const [object] = objectsIn(...given);
  if (object === undefined) throw new RangeError(`${given[0]}.yaml has no object`);
  return object;
}
