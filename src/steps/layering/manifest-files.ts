import { isManifestName } from '../../layering/manifests/bootstrap-manifests.ts';
import type { SourceFile } from '../../layering/source-object.ts';
import type { StepScope } from '../step.ts';

/** Folders of the manifests that bootkube renders from and applies (openshift/installer, bootkube.sh). */
export const manifestFolders = ['/opt/openshift/openshift', '/opt/openshift/manifests'] as const;

/** Every manifest of the cluster that lies on the bootstrap host. */
export async function readManifestFiles({
  host,
  signal,
}: Pick<StepScope<'host'>, 'host' | 'signal'>): Promise<readonly SourceFile[]> {
  const files: SourceFile[] = [];
  for (const folder of manifestFolders) {
    for (const name of await host.list(folder, signal)) {
      if (!isManifestName(name)) continue;
      const path = `${folder}/${name}`;
      const text = await host.readText(path, signal);
      if (text !== undefined) files.push({ path, text });
    }
  }
  return files;
}
