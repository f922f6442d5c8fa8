import { join } from 'node:path';

import { partFolder } from '../../../scripts/parts/cache.ts';
import { osImage } from '../../../scripts/parts/os-image.ts';
import { addLayer } from '../../installer/layered-image.ts';
import { type ImageRegistry, startRegistry } from '../rig/registry.ts';
import { gateway } from './outside.ts';

/** The image of the operating system that a node shall run, where guests reach it. */
export interface ServedOs extends AsyncDisposable {
  /** Pull spec with its digest. */
  readonly image: string;
  /** Bash that lets a host pull: its pull secret, and a registry without TLS, which no word of the agent speaks of. */
  readonly before: string;
}

/** Serves an image with one layer more than the disk has, from a registry; the part must be there. */
export async function serveFinalOs(folder: string): Promise<ServedOs> {
  const registry: ImageRegistry = await startRegistry(join(folder, 'registry'));
  const files = { 'usr/share/labcoreos/layers/final': 0 };
  const layout = addLayer(join(partFolder(osImage), 'oci'), folder, { tag: 'final', files });
  const digest = await registry.push(layout, 'labcoreos:final');
  const place = `${gateway}:${registry.port}`;
  return {
    image: `${place}/labcoreos@${digest}`,
    before: [
      'mkdir -p /root/.docker',
      `echo '{"auths":{}}' > /root/.docker/config.json`,
      `printf '[[registry]]\\nlocation = "${place}"\\ninsecure = true\\n' > /etc/containers/registries.conf.d/lab.conf`,
    ].join('\n'),
    [Symbol.asyncDispose]: () => registry[Symbol.asyncDispose](),
  };
}
