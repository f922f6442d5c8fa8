import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { partFolder } from '../../../scripts/parts/cache.ts';
import { osImage } from '../../../scripts/parts/os-image.ts';
import { addLayer } from '../../installer/layered-image.ts';
import { startRegistry } from '../rig/registry.ts';
import { layerCommands, type LayerPlace } from './layer-commands.ts';
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

/** The operating systems of the masters, in a registry that guests reach. */
export interface LayeredImages extends AsyncDisposable {
  /** What the cluster wants on its nodes; Lab CoreOS calls its layer `final`. */
  readonly final: LayeredImage;
  /** What a node is moved to; its layer is `second`. */
  readonly second: LayeredImage;
  /** The second one under another name, for a host that is installed into its running root. */
  readonly other: LayeredImage;
  /** Bash that lets a host pull: its pull secret, and a registry without TLS, which no word of the agent speaks of. */
  readonly before: string;
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
  /** Bash that lets a host pull, as above. */
  readonly before: string;
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
    before: letHostPull(place),
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

/**
 * Builds the images from a MachineOSConfig by `bootwright layer build` and `layer push`, on the system of the
 * release. The parts and the bundle must be there.
 */
export async function serveLayeredImages(folder: string): Promise<LayeredImages> {
  const registry = await startGuestRegistry(folder);
  const { build, push } = layerCommands(registry.work, await registry.pushRelease());
  await build('final');
  const final = await push('final');
  await build('second');
  const [second, other] = [await push('second'), await push('other')];
  return {
    final: await registry.served(final),
    second: await registry.served(second),
    other: await registry.served(other),
    before: registry.before,
    [Symbol.asyncDispose]: () => registry[Symbol.asyncDispose](),
  };
}

const letHostPull = (place: string): string =>
  [
    'mkdir -p /root/.docker',
    `echo '{"auths":{}}' > /root/.docker/config.json`,
    `printf '[[registry]]\\nlocation = "${place}"\\ninsecure = true\\n' > /etc/containers/registries.conf.d/lab.conf`,
  ].join('\n');
