import { readObjects, type SourceObject } from '../../layering/source-object.ts';
import type { StepScope } from '../step.ts';
import { handOverFailure } from './hand-over-failures.ts';

/**
 * Reads the one object of a kind from a manifest on the host.
 * @throws AgentError `layering.manifest-unusable`, `layering.malformed-file`, `layering.wrong-object`
 */
export async function readManifest(
  { host, signal }: StepScope<'host'>,
  { path, kind }: { readonly path: string; readonly kind: string },
): Promise<SourceObject> {
  const text = await host.readText(path, signal);
  if (text === undefined) throw unusable(path, 'is not there');
  const found = readObjects({ path, text }).filter(({ value }) => value['kind'] === kind);
  const [object] = found;
  if (object === undefined || found.length > 1) {
    throw unusable(path, `holds ${found.length} objects of kind ${kind} instead of one`);
  }
  return object;
}

const unusable = (path: string, problem: string): Error =>
  handOverFailure('layering.manifest-unusable', `${path} ${problem}`, { context: { path } });
