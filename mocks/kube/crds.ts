import { readdir, readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { KubeKind, KubeObject } from '../../src/ports/kube.ts';
import type { KubeClient } from './client.ts';

const definitions: KubeKind = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  plural: 'customresourcedefinitions',
};
const AT_ONCE = 8;
const POLL_INTERVAL_MILLIS = 50;

/**
 * Applies the definitions in a folder with files `<plural>.<group>.yaml`, and waits until they are
 * established. `wanted` names some of them: `etcds.operator.openshift.io`, or `etcds` for all with
 * that plural.
 */
export async function applyCrds(
  client: KubeClient,
  folder: string,
  wanted: readonly string[] | 'all',
): Promise<void> {
  const names = chooseNames(await namesIn(folder), wanted);
  const left = [...names];
  const work = async () => {
    for (let name = left.shift(); name !== undefined; name = left.shift())
      await applyOne(client, name, await readFile(join(folder, `${name}.yaml`), 'utf8'));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
}

/** The names of the wanted definitions. A name without a definition is a mistake in the test. */
export function chooseNames(
  present: readonly string[],
  wanted: readonly string[] | 'all',
): readonly string[] {
  if (wanted === 'all') return present;
  const chosen = wanted.map((name) => present.filter((one) => isMeant(one, name)));
  const unknown = wanted.filter((_, index) => chosen[index]?.length === 0);
  if (unknown.length > 0) throw new Error(`no definition is called ${unknown.join(', ')}`);
  return [...new Set(chosen.flat())];
}

function isMeant(present: string, wanted: string): boolean {
  return present === wanted || present.startsWith(`${wanted}.`);
}

async function namesIn(folder: string): Promise<string[]> {
  return (await readdir(folder)).map((file) => basename(file, '.yaml')).sort();
}

async function applyOne(client: KubeClient, name: string, yaml: string): Promise<void> {
  const ref = { kind: definitions, name };
  for (
    let definition: KubeObject | undefined = await client.applyManifest(ref, yaml);
    definition === undefined || !isEstablished(definition);
    definition = await client.get(ref)
  )
    await pause(POLL_INTERVAL_MILLIS);
}

/** Right after its creation, a definition has null for its conditions. */
function isEstablished({ status }: KubeObject): boolean {
  const { conditions } = (status ?? {}) as {
    readonly conditions?: readonly { readonly type: string; readonly status: string }[] | null;
  };
  const established = conditions?.find(({ type }) => type === 'Established');
  return established?.status === 'True';
}
