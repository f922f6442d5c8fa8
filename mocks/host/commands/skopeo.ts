import { type Call, fail, type Program, type Programs } from '../call.ts';
import { type HeldImage, publish } from '../images.ts';
import type { Machine } from '../machine.ts';
import { sortWords } from './words.ts';

const withValue = [
  ...['--src-authfile', '--dest-authfile', '--authfile', '--format', '--digestfile'],
  ...['--src-cert-dir', '--dest-cert-dir', '--cert-dir'],
];

/** `docker://NAME`, or `containers-storage:[…]NAME`. */
function find({ images }: Machine, reference: string): HeldImage | undefined {
  const [, remote] = /^docker:\/\/(.*)$/.exec(reference) ?? [];
  if (remote !== undefined) return images.inRegistries.get(remote);
  return images.inStore.get(reference.replace(/^containers-storage:(?:\[[^\]]*\])?/, ''));
}

const unknown = (call: Call, reference: string): number =>
  fail(call, `time="" level=fatal msg="reading manifest ${reference}: manifest unknown"`);

const skopeo: Program = (machine, call) => {
  const words = sortWords(call.argv.slice(2), withValue);
  const [from = '', to = ''] = words.rest;
  const image = find(machine, from);
  if (image === undefined) return unknown(call, from);
  if (call.argv[1] === 'copy') {
    publish(machine.images, to.replace('docker://', ''), image);
    return 0;
  }
  if (words.has('--raw')) call.out('{"schemaVersion":2,"layers":[]}\n');
  else if (words.has('--config')) {
    call.out(`${JSON.stringify({ architecture: 'amd64', config: { Labels: image.labels } })}\n`);
  } else call.out(`${image.digest}\n`);
  return 0;
};

/** The program that copies images between registries. */
export const imagePrograms: Programs = { skopeo };
