// bootkube applies the manifests of the bootstrap host to the cluster; a manifest that the API
// server refuses would be missing in a real cluster too.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../src/ports/kube.ts';
import { isKindName, kinds, type KindName } from './objects.ts';
import type { ClusterWork } from './site.ts';

const folders = ['/opt/openshift/manifests', '/opt/openshift/openshift'];

interface Manifest {
  readonly file: string;
  readonly kind: KindName;
  readonly object: KubeObject;
}

/** The bootstrap host's files for its cluster, as texts with their paths. */
export async function readManifests({ real }: ClusterWork['bootstrap']['files']) {
  const found = folders.map(async (folder) => {
    const place = real(folder);
    const names = (await readdir(place).catch(() => [])).filter((name) => /\.ya?ml$/.test(name));
    return Promise.all(
      names.toSorted().map(async (name) => {
        return { file: `${folder}/${name}`, text: await readFile(join(place, name), 'utf8') };
      }),
    );
  });
  return (await Promise.all(found)).flat();
}

/**
 * Applies every manifest of the bootstrap host; namespaces come first, because other objects need
 * theirs.
 */
export async function applyManifests(work: ClusterWork): Promise<void> {
  const texts = await readManifests(work.bootstrap.files);
  const found = texts.flatMap(({ file, text }) => documentsOf(work, file, text));
  const isNamespace = ({ kind }: Manifest): boolean => kind === 'Namespace';
  const inOrder = [...found.filter(isNamespace), ...found.filter((one) => !isNamespace(one))];
  for (const { file, kind, object } of inOrder) {
    try {
      await work.kube.api.client.apply(kinds[kind], object);
    } catch (error) {
      work.complain(`${file} was refused: ${error instanceof Error ? error.message : ''}`);
    }
  }
}

function documentsOf(work: ClusterWork, file: string, text: string): readonly Manifest[] {
  const documents = parseAllDocuments(text);
  if (!Array.isArray(documents)) return [];
  return documents.flatMap((document) => {
    if (document.errors.length > 0) work.complain(`${file} is no YAML`);
    const object = document.toJS() as (KubeObject & { readonly kind?: string }) | null;
    const kind = object?.kind ?? '';
    if (object === null || document.errors.length > 0) return [];
    if (!isKindName(kind)) {
      work.complain(`${file} is of the kind "${kind}", which the lab does not know`);
      return [];
    }
    return [{ file, kind, object }];
  });
}
