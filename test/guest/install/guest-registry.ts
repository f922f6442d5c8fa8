import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { osImage } from '../../../scripts/parts/os-image.ts';
import { partFolder } from '../../../scripts/parts/part.ts';
import { addLayer } from '../../installer/layered-image.ts';
import { type ImageRegistry, startRegistry } from '../rig/registry.ts';
import type { LayerPlace } from './layer-commands.ts';
import { gateway } from './outside.ts';
import { newLayerBytes, pulledBytes } from './pulls.ts';

/** An image that was built for the masters. */
export interface LayeredImage {
  /** Pull spec with its digest, as guests reach it. */
  readonly image: string;
  /** Compressed bytes of the layers that the image of the disk has not. */
  readonly newBytes: number;
  /** Bytes that guests got of it so far. */
  readonly pulled: () => number;
}

/** What the Containerfile of a pool calls and Lab CoreOS has not; jq knows the one question that is asked. */
const standIns = {
  'usr/bin/jq': `#!/bin/sh\nexec sed 's/.*"config":\\(.*\\)}}$/\\1/' "$2"\n`,
  'usr/bin/update-ca-trust': '#!/bin/sh\n',
};

/** A registry that guests reach, for the system of the release and what is built on it. */
export interface GuestRegistry extends AsyncDisposable {
  /** Folder for what is built. */
  readonly work: string;
  /** HOST:PORT on loopback. */
  readonly address: string;
  /** Bash that lets a host pull, as above. */
  readonly before: string;
  /** Pushes an image of an OCI layout, `FOLDER:TAG`, under a name, and returns its digest there. */
  readonly push: ImageRegistry['push'];
  /** Pushes the system of the release: that of the disk, and one small layer with what a build calls. */
  readonly pushRelease: () => Promise<LayerPlace>;
  /** A pushed image as guests see it; what they pull is counted from now on. */
  readonly served: (pullSpec: string) => Promise<LayeredImage>;
}

/** Starts the registry; its images lie in a folder of the test. The parts must be there. */
export async function startGuestRegistry(folder: string): Promise<GuestRegistry> {
  const registry = await startRegistry(join(folder, 'registry'));
  const work = join(folder, 'layering');
  mkdirSync(work);
  const disk = join(partFolder(osImage), 'oci');
  const address = `127.0.0.1:${registry.port}`;
  const place = `${gateway}:${registry.port}`;
  return {
    work,
    address,
    before: [letHostPull, letHostPullFrom(place)].join('\n'),
    push: registry.push,
    pushRelease: async () => {
      const release = addLayer(disk, work, { tag: 'release', files: {}, programs: standIns });
      const digest = await registry.push(release, 'release/labcoreos:1.0.0');
      return { address, osImageURL: `${address}/release/labcoreos@${digest}` };
    },
    served: async (pullSpec) => {
      const newBytes = await newLayerBytes(pullSpec, disk);
      // What was asked for until here, this machine asked for.
      const pushed = registry.log().length;
      return {
        image: pullSpec.replace(address, place),
        newBytes,
        pulled: () => pulledBytes(registry.log().slice(pushed), pullSpec),
      };
    },
    [Symbol.asyncDispose]: () => registry[Symbol.asyncDispose](),
  };
}

const letHostPull = `mkdir -p /root/.docker; echo '{"auths":{}}' > /root/.docker/config.json`;

/** Bash that lets a host pull from HOST:PORT without TLS. */
export function letHostPullFrom(place: string): string {
  const file = `/etc/containers/registries.conf.d/${place.replace(':', '-')}.conf`;
  return `printf '[[registry]]\\nlocation = "${place}"\\ninsecure = true\\n' > ${file}`;
}
