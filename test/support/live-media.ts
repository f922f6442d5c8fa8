import { execFile } from 'node:child_process';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Features of a live CoreOS image (`buildextend-live` of coreos-assembler). */
const features = { 'installer-config': true, 'live-initrd-network': true };

/** Further content of a live ISO: bytes, texts, or paths of files, by their names on the ISO. */
interface LiveIso {
  /** Without keyfiles in its initramfs, as before OpenShift 4.10. */
  readonly isOld?: boolean;
  readonly texts?: Readonly<Record<string, string>>;
  readonly files?: Readonly<Record<string, string>>;
}

/**
 * Makes an ISO that coreos-installer accepts as live: an area for 256 KiB of initramfs, and a file
 * with its place. If the texts have a grub.cfg, GRUB boots it by BIOS and by UEFI.
 */
export async function createLiveIso(
  path: string,
  { isOld = false, texts = {}, files = {} }: LiveIso = {},
): Promise<void> {
  const tree = `${path}.tree`;
  const all = {
    'coreos/igninfo.json': JSON.stringify({ file: 'images/ignition.img' }),
    ...(isOld ? {} : { 'coreos/features.json': JSON.stringify(features) }),
    'images/ignition.img': Buffer.alloc(256 * 1024),
    ...texts,
  };
  for (const [name, content] of Object.entries(all)) {
    await mkdir(dirname(join(tree, name)), { recursive: true });
    await writeFile(join(tree, name), content);
  }
  for (const [name, from] of Object.entries(files)) await cp(from, join(tree, name));
  await run('grub-mkrescue', ['--output', path, tree]);
  await rm(tree, { recursive: true });
}

/** A file in an initramfs archive, in the newc format of cpio(5). */
function newc(name: string, content: string): Buffer {
  const fields = [0, 0o100_644, 0, 0, 1, 0, content.length, 0, 0, 0, 0, name.length + 1, 0];
  const head = `070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}${name}\0`;
  const padded = (text: string): string => text.padEnd(Math.ceil(text.length / 4) * 4, '\0');
  return Buffer.from(padded(head) + padded(content));
}

/** An initramfs that coreos-installer accepts as a live system's. */
export const liveInitramfs = (): Buffer =>
  Buffer.concat([
    newc('etc/coreos-live-initramfs', ''),
    newc('etc/coreos/features.json', JSON.stringify(features)),
    newc('TRAILER!!!', ''),
  ]);
