import type { Program, Programs } from '../call.ts';
import { failImage, pullImage, pushImage } from '../image-access.ts';
import { digestOfText, type HeldImage } from '../images.ts';
import type { Machine } from '../machine.ts';
import { sortWords } from './words.ts';

const withValue = [
  ...['--src-authfile', '--dest-authfile', '--authfile', '--format', '--digestfile'],
  ...['--src-cert-dir', '--dest-cert-dir', '--cert-dir'],
];

/** `docker://NAME`, or `containers-storage:[…]NAME`. */
async function find(
  machine: Machine,
  reference: string,
  authFile: string | undefined,
): Promise<HeldImage | string> {
  const [, image] = /^docker:\/\/(.*)$/.exec(reference) ?? [];
  if (image !== undefined) return pullImage(machine, { image, authFile });
  const name = reference.replace(/^containers-storage:(?:\[[^\]]*\])?/, '');
  return machine.images.inStore.get(name) ?? `reading manifest ${reference}: manifest unknown`;
}

const skopeo: Program = async (machine, call) => {
  const words = sortWords(call.argv.slice(2), withValue);
  const [from = '', to = ''] = words.rest;
  const [authFile] = words.all('--src-authfile', '--authfile');
  const image = await find(machine, from, authFile);
  if (typeof image === 'string') return failImage(call, image);
  if (call.argv[1] === 'copy') {
    const [destAuthFile] = words.all('--dest-authfile');
    const target = { image: to.replace('docker://', ''), authFile: destAuthFile };
    const trouble = await pushImage(machine, target, image);
    return trouble === undefined ? 0 : failImage(call, trouble);
  }
  if (words.has('--raw')) call.out('{"schemaVersion":2,"layers":[]}\n');
  else if (words.has('--config')) {
    call.out(`${JSON.stringify({ architecture: 'amd64', config: { Labels: image.labels } })}\n`);
  } else if (words.has('--format')) call.out(`${image.digest}\n`);
  else call.out(`${JSON.stringify(inspected(image))}\n`);
  return 0;
};

/** What `skopeo inspect` prints unless told else; every image is one layer of a mebibyte. */
function inspected({ digest, labels }: HeldImage): object {
  const layer = digestOfText(`layer of ${digest}`);
  return {
    Digest: digest,
    RepoTags: [],
    Labels: labels,
    Architecture: 'amd64',
    Os: 'linux',
    Layers: [layer],
    LayersData: [{ Digest: layer, Size: 2 ** 20 }],
  };
}

/** The program that copies images between registries. */
export const imagePrograms: Programs = { skopeo };
