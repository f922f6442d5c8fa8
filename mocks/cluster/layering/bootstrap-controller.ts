// The bootstrap controller of the Machine Config Operator, and the kubelet that makes its pod anew.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseAllDocuments } from 'yaml';
import { bootstrapRendering, manifestsFolder, podPath } from '../../layering/rendered.ts';
import type { ClusterWork } from '../site.ts';
import type { LayeredSite } from './site.ts';

const LOOK_EVERY_MILLIS = 100;

const installFolders = ['/opt/openshift/manifests', '/opt/openshift/openshift'];

const podManifest = `apiVersion: v1
kind: Pod
metadata:
  name: bootstrap-machine-config-operator
spec:
  hostNetwork: true
`;

/**
 * Renders on the bootstrap host, before the API server is up, and again whenever the manifest of its pod has
 * changed. It ends with an error at a MachineOSConfig that names no image (machine-config-operator from 4.21 on).
 */
export async function renderOnBootstrap(work: ClusterWork, layered: LayeredSite): Promise<void> {
  const { files } = work.bootstrap;
  const refused = await manifestWithoutImage(files);
  if (refused !== undefined) {
    layered.incidents.push(`the bootstrap controller cannot render: ${refused} names no image`);
    return;
  }
  await mkdir(await files.real(manifestsFolder), { recursive: true });
  await write(files, podPath, podManifest);
  await render(work, layered);
  renderAgain(work, layered).catch((error: unknown) => {
    if (!work.signal.aborted) work.complain(error instanceof Error ? error.message : '');
  });
}

type Files = ClusterWork['bootstrap']['files'];

async function write(files: Files, path: string, text: string): Promise<void> {
  const place = await files.real(path);
  await mkdir(dirname(place), { recursive: true });
  await writeFile(place, text);
}

async function render({ bootstrap: { files } }: ClusterWork, { plan }: LayeredSite): Promise<void> {
  const found = await Promise.all(
    // bootkube copies the manifests of the installation to where the controller reads.
    [...installFolders, manifestsFolder].map((folder) => manifestsIn(files, folder)),
  );
  for (const [path, text] of bootstrapRendering(plan, found.flat())) await write(files, path, text);
}

async function manifestsIn({ real }: Files, folder: string): Promise<readonly unknown[]> {
  const place = await real(folder);
  const names = (await readdir(place).catch(() => [])).filter((name) => name.endsWith('.yaml'));
  const texts = await Promise.all(names.sort().map((name) => readFile(join(place, name), 'utf8')));
  return texts.flatMap((text) =>
    [parseAllDocuments(text)].flat().map((document) => document.toJS() as unknown),
  );
}

async function renderAgain(work: ClusterWork, layered: LayeredSite): Promise<void> {
  const place = await work.bootstrap.files.real(podPath);
  let pod = podManifest;
  while (!work.state().isBootkubeDone) {
    await sleep(LOOK_EVERY_MILLIS, undefined, { signal: work.signal });
    const found = await readFile(place, 'utf8');
    if (found === pod) continue;
    pod = found;
    await render(work, layered);
  }
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
