// The bootstrap controller of the Machine Config Operator, and the kubelet that makes its pod anew.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parse } from 'yaml';
import { bootstrapRendering, lastPin, manifestsFolder, podPath } from '../../layering/rendered.ts';
import type { ClusterWork } from '../site.ts';
import type { LayeredSite } from './site.ts';

const LOOK_EVERY_MILLIS = 100;

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
  const folder = await files.real(manifestsFolder);
  const names = (await readdir(folder)).filter((name) => name.endsWith('.yaml')).sort();
  const manifests = await Promise.all(
    names.map(async (name) => parse(await readFile(join(folder, name), 'utf8')) as unknown),
  );
  const rendering = bootstrapRendering(plan, (pool) => lastPin(manifests, pool));
  for (const [path, text] of rendering) await write(files, path, text);
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
  for (const folder of ['/opt/openshift/manifests', '/opt/openshift/openshift']) {
    const place = await real(folder);
    for (const name of await readdir(place).catch(() => [])) {
      const text = await readFile(join(place, name), 'utf8').catch(() => '');
      const isOne = /^kind: MachineOSConfig$/m.test(text);
      if (isOne && !text.includes('pre-built-image')) return `${folder}/${name}`;
    }
  }
  return undefined;
}
