// The bootstrap controller of the Machine Config Operator.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { bootstrapRendering } from '../../layering/rendered.ts';
import type { ClusterWork } from '../site.ts';
import type { LayeredSite } from './site.ts';

const installFolders = ['/opt/openshift/manifests', '/opt/openshift/openshift'];

/**
 * Renders on the bootstrap host, before the API server is up. It ends with an error at a MachineOSConfig that names no image (machine-config-operator from 4.21 on).
 */
export async function renderOnBootstrap(work: ClusterWork, layered: LayeredSite): Promise<void> {
  const { files } = work.bootstrap;
  const refused = await manifestWithoutImage(files);
  if (refused !== undefined) {
    layered.incidents.push(`the bootstrap controller cannot render: ${refused} names no image`);
    return;
  }
  const found = await Promise.all(installFolders.map((folder) => manifestsIn(files, folder)));
  for (const [path, text] of bootstrapRendering(layered.plan, found.flat())) {
    await write(files, path, text);
  }
}

type Files = ClusterWork['bootstrap']['files'];

async function write(files: Files, path: string, text: string): Promise<void> {
  const place = await files.real(path);
  await mkdir(dirname(place), { recursive: true });
  await writeFile(place, text);
}

async function manifestsIn({ real }: Files, folder: string): Promise<readonly unknown[]> {
  const place = await real(folder);
  const names = (await readdir(place).catch(() => [])).filter((name) => name.endsWith('.yaml'));
  const texts = await Promise.all(names.sort().map((name) => readFile(join(place, name), 'utf8')));
  return texts.flatMap((text) =>
    [parseAllDocuments(text)].flat().map((document) => document.toJS() as unknown),
  );
}

async function manifestWithoutImage({ real }: Files): Promise<string | undefined> {
  for (const folder of installFolders) {
    const place = await real(folder);
    for (const name of await readdir(place).catch(() => [])) {
      const text = await readFile(join(place, name), 'utf8').catch(() => '');
      const isOne = /^kind: MachineOSConfig$/m.test(text);
      if (isOne && !text.includes('pre-built-image')) return `${folder}/${name}`;
    }
  }
  return undefined;
}
