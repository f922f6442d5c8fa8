// bootkube puts the manifests that lie on the bootstrap host into the cluster; what the API server refuses, a real
// cluster would not have either.
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

/** Applies every manifest of the bootstrap host; namespaces come first, as everything else needs theirs. */
export async function applyManifests(work: ClusterWork): Promise<void> {
  const found = (await Promise.all(folders.map((folder) => manifestsIn(work, folder)))).flat();
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

async function manifestsIn(work: ClusterWork, folder: string): Promise<readonly Manifest[]> {
  const { files } = work.bootstrap;
  const place = await files.real(folder);
  const names = await readdir(place).catch(() => []);
  const texts = await Promise.all(
    names
      .filter((name) => /\.ya?ml$/.test(name))
      .toSorted()
      .map(async (name) => ({ name, text: await readFile(join(place, name), 'utf8') })),
  );
  return texts.flatMap(({ name, text }) => documentsOf(work, `${folder}/${name}`, text));
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
