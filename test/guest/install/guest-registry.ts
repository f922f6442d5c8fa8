import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { partFolder } from '../../../scripts/parts/part.ts';
import { imageRegistry, osImage } from '../../../scripts/parts/scripted.ts';
import { addLayer } from '../../installer/layered-image.ts';
import { openSerialLog } from '../rig/serial-log.ts';
import type { LayerPlace } from './layer-commands.ts';
import { gateway } from './outside.ts';

/** An image that was built for the masters. */
export interface LayeredImage {
  /** Pull spec with its digest, as guests reach it. */
  readonly image: string;
  /** Compressed bytes of the layers that the image of the disk lacks. */
  readonly newBytes: number;
  /** Bytes that guests got of it so far. */
  readonly pulled: () => number;
}

/**
 * Programs that the Containerfile of a pool calls and Lab CoreOS lacks; jq answers only the given
 * queries.
 */
const standIns = {
  'usr/bin/jq': `#!/bin/sh
[ "$1" = --raw-output ] || exec sed 's/.*"config":\\(.*\\)}}$/\\1/' "$2"
exec sed -n 's/.*"'$(expr "$2" : '\\.\\([a-z]*\\)')'":"\\([^"]*\\)".*/\\1/p' "$3"
`,
  'usr/bin/update-ca-trust': '#!/bin/sh\n',
};

/** A registry that guests reach, for the system of the release and images built on it. */
export interface GuestRegistry extends AsyncDisposable {
  /** Folder for built images. */
  readonly work: string;
  /** HOST:PORT on loopback. */
  readonly address: string;
  /** Bash that lets a host pull, as above. */
  readonly before: string;
  /** Pushes an image of an OCI layout, `FOLDER:TAG`, under a name, and returns its digest there. */
  readonly push: ImageRegistry['push'];
  /**
   * Pushes the system of the release: that of the disk, and one small layer with what a build
   * calls.
   */
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
      // The requests so far came from this machine.
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

interface Manifest {
  readonly layers: readonly { readonly digest: string; readonly size: number }[];
}

interface Index {
  readonly manifests: readonly { readonly digest: string }[];
}

const partsOf = (pullSpec: string) => {
  const [, address = '', repository = '', digest = ''] =
    /^([^/]+)\/(.+)@(sha256:.+)$/.exec(pullSpec) ?? [];
  return { address, repository, digest };
};

/**
 * Compressed bytes of the layers of an image in a registry without TLS that the image of an OCI
 * layout lacks.
 */
async function newLayerBytes(pullSpec: string, layout: string): Promise<number> {
  const { address, repository, digest } = partsOf(pullSpec);
  const answer = await fetch(`http://${address}/v2/${repository}/manifests/${digest}`, {
    headers: { accept: 'application/vnd.oci.image.manifest.v1+json' },
  });
  const { layers } = (await answer.json()) as Manifest;
  const known = new Set(layersOf(layout));
  return layers
    .filter((layer) => !known.has(layer.digest))
    .reduce((sum, { size }) => sum + size, 0);
}

function layersOf(layout: string): readonly string[] {
  const read = <T>(...path: readonly string[]): T =>
    JSON.parse(readFileSync(join(layout, ...path), 'utf8')) as T;
  const [first] = read<Index>('index.json').manifests;
  const blob = (first?.digest ?? '').replace('sha256:', '');
  return read<Manifest>('blobs', 'sha256', blob).layers.map(({ digest }) => digest);
}

/**
 * Bytes that a registry gave out of the repository of an image: layers, manifests and configs. The
 * log has a line in the combined format of web servers for each request.
 */
const pulledBytes = (log: string, pullSpec: string): number => {
  const begin = `"GET /v2/${partsOf(pullSpec).repository}/`;
  return log
    .split('\n')
    .filter((line) => line.includes(begin))
    .map((line) => Number(/" 20[06] (\d+) /.exec(line)?.[1] ?? 0))
    .reduce((sum, bytes) => sum + bytes, 0);
};

const run = promisify(execFile);

/** A registry of container images on loopback, without TLS. */
interface ImageRegistry extends AsyncDisposable {
  readonly port: number;
  /** Pushes an image of an OCI layout, `FOLDER:TAG`, under a name, and returns its digest there. */
  readonly push: (layout: string, name: string) => Promise<string>;
  /** Its output so far, with a line in the combined format for each request. */
  readonly log: () => string;
}

/** Starts the registry; its images and its log lie in a folder of the test. */
async function startRegistry(folder: string): Promise<ImageRegistry> {
  mkdirSync(folder);
  const at = (name: string): string => join(folder, name);
  const settings = {
    version: '0.1',
    log: { accesslog: { disabled: false } },
    storage: { filesystem: { rootdirectory: at('images') } },
    http: { addr: '127.0.0.1:0' },
  };
  // JSON is YAML too.
  writeFileSync(at('settings.yaml'), JSON.stringify(settings));
  const log = openSync(at('log.txt'), 'w');
  const program = join(partFolder(imageRegistry), 'bin', 'docker-registry');
  // The kernel ends it when the test's process ends in any way.
  const argv = ['--pdeathsig', 'KILL', '--', program, 'serve', at('settings.yaml')];
  const child = spawn('setpriv', argv, { stdio: ['ignore', log, log] });
  closeSync(log);
  const gone = once(child, 'close').then(() => 'too early');
  const line = await openSerialLog(at('log.txt'), gone).waitForLine(/listening on 127/, 600);
  const port = Number(/127\.0\.0\.1:(\d+)/.exec(line)?.[1]);
  return {
    port,
    push: async (layout, name) => {
      const target = `docker://127.0.0.1:${port}/${name}`;
      const options = ['--quiet', '--dest-tls-verify=false', '--digestfile', at('digest')];
      await run('skopeo', ['copy', ...options, `oci:${layout}`, target]);
      return readFileSync(at('digest'), 'utf8').trim();
    },
    log: () => readFileSync(at('log.txt'), 'utf8'),
    async [Symbol.asyncDispose]() {
      child.kill();
      await gone;
    },
  };
}
