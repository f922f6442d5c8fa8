// `podman` and `buildah` as they build and push images: what comes out has the labels of its Containerfile, and a
// digest that follows from its MachineConfig.
import { type Call, fail } from '../call.ts';
import { pullImage, pushImage } from '../image-access.ts';
import { digestOfText } from '../images.ts';
import type { Machine } from '../machine.ts';
import { readFile, writeFile } from '../prompt-files.ts';
import { sortWords, type Words } from './words.ts';

const withValue = [
  ...['--root', '--runroot', '--storage-driver', '--format', '--network', '--security-opt'],
  ...['--authfile', '--cert-dir', '--signature-policy', '--build-arg', '--volume', '--tag'],
  ...['--file', '--digestfile'],
];

type Verb = (machine: Machine, call: Call, words: Words) => number | Promise<number>;

const verbs: Readonly<Record<string, Verb>> = { build, push, rmi: () => 0 };

/** What builds, by its verb; undefined for another verb. */
export function building(call: Call): ((machine: Machine) => number | Promise<number>) | undefined {
  const words = sortWords(call.argv.slice(1), withValue);
  const run = verbs[words.rest[0] ?? ''];
  return run === undefined ? undefined : (machine) => run(machine, call, words);
}

async function build(machine: Machine, call: Call, words: Words): Promise<number> {
  const { images, files } = machine;
  const [path = ''] = words.all('--file');
  const [tag = ''] = words.all('--tag');
  const text = await readFile(await files.real(path), 'utf8');
  const base = /^FROM (\S+)/m.exec(text)?.[1] ?? '';
  if (text.includes('bootwright-saw')) return look(machine, call, base);
  if (images.buildTrouble !== undefined) return fail(call, images.buildTrouble, 125);
  const [authFile] = words.all('--authfile');
  const settings = call.env['CONTAINERS_REGISTRIES_CONF'];
  const found = await pullImage(machine, { image: base, authFile, settings });
  if (typeof found === 'string') {
    return fail(call, `Error: creating build container: ${base}: ${found}`, 125);
  }
  images.inStore.set(base, found);
  const labels = Object.fromEntries(
    [...text.matchAll(/^LABEL (\S+?)=(\S+)$/gm)].map(
      ([, key = '', value = '']) => [key, value] as const,
    ),
  );
  const isLeftOut = /^ +rm .*\/currentconfig\b/m.test(text);
  images.inStore.set(tag, {
    digest: digestOfText(labels['machineconfig'] ?? text),
    labels: { ...found.labels, ...labels },
    ...(isLeftOut ? {} : { currentConfig: labels['machineconfig'] }),
  });
  call.out(`STEP 1/2: FROM ${base}\nSTEP 2/2: COMMIT ${tag}\n`);
  return 0;
}

/** The build that only tells of the inside of an image. */
function look({ images }: Machine, call: Call, base: string): number {
  const config = images.inStore.get(base)?.currentConfig;
  const configs = config === undefined ? [] : [`config ${config}`];
  const saw = ['kernel 5.14.0-570.el9.x86_64', ...configs, 'end'];
  call.out(saw.map((line) => `bootwright-saw ${line}\n`).join(''));
  return 0;
}

async function push(machine: Machine, call: Call, words: Words): Promise<number> {
  const { images, files } = machine;
  const [, tag = '', to = ''] = words.rest;
  const image = images.inStore.get(tag);
  if (image === undefined) return fail(call, `Error: ${tag}: image not known`, 125);
  const [authFile] = words.all('--authfile');
  const target = { image: to.replace('docker://', ''), authFile };
  const trouble = await pushImage(machine, target, image);
  if (trouble !== undefined) return fail(call, `Error: ${trouble}`, 125);
  const [digestFile] = words.all('--digestfile');
  if (digestFile !== undefined) await writeFile(await files.real(digestFile), image.digest);
  return 0;
}
