// `machine-config-daemon start --once-from FILE` in a container: writes the files of an Ignition
// config to the host, as a first boot would.
import {
  appendFileSync,
  chmodSync,
  lstatSync,
  mkdirSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import { jsonIn } from '../../../src/lib/json.ts';
import { type Call, fail, sortWords } from '../call.ts';
import type { Machine } from '../machine.ts';
import { placeFor, textOf } from '../files.ts';

/** A list that may be missing or null. */
const listOf = <Item extends z.ZodType>(item: Item) =>
  z
    .array(item)
    .nullish()
    .transform((found) => found ?? []);
const text = z
  .string()
  .nullish()
  .transform((found) => found ?? '');

const Contents = z.object({ source: text, compression: text });
type Contents = z.infer<typeof Contents>;

const IgnitionFile = z.object({
  path: z.string(),
  mode: z.int().nullish(),
  contents: Contents.nullish(),
  append: listOf(Contents),
});
type IgnitionFile = z.infer<typeof IgnitionFile>;

const Unit = z.object({
  name: z.string(),
  contents: text,
  dropins: listOf(z.object({ name: z.string(), contents: text })),
});

const IgnitionText = z.object({
  ignition: z.object({ version: z.string().regex(/^3\./) }),
  storage: z
    .object({
      directories: listOf(z.object({ path: z.string() })),
      files: listOf(IgnitionFile),
      links: listOf(z.object({ path: z.string(), target: text })),
    })
    .prefault({}),
  systemd: z.object({ units: listOf(Unit) }).prefault({}),
  passwd: z
    .object({
      users: listOf(z.object({ name: z.string(), sshAuthorizedKeys: listOf(z.string()) })),
    })
    .prefault({}),
});
type IgnitionText = z.infer<typeof IgnitionText>;

const withValue = ['--net', '--network', '--pid', '--volume', '-v', '--entrypoint', '--name'];
const daemonOptions = ['--node-name', '--root-mount', '--once-from'];

/** Runs the daemon in its container; podman's own failures end with 125. */
export function runOnceFrom(machine: Machine, call: Call): number {
  const at = call.argv.indexOf('start');
  const engine = sortWords(call.argv.slice(2, at), withValue);
  const daemon = sortWords(call.argv.slice(at + 1), daemonOptions);
  const volumes = engine.all('--volume', '-v');
  if (at === -1 || engine.rest.length !== 1 || !engine.has('--privileged')) {
    return fail(call, 'Error: an image, --privileged and the words of the daemon are needed', 125);
  }
  if (!volumes.some((one) => one.startsWith('/:/rootfs'))) {
    return fail(call, 'F main.go: --root-mount /rootfs does not exist', 255);
  }
  const [path = ''] = daemon.all('--once-from');
  if (!daemon.has('--skip-reboot'))
    machine.reboot = { when: 'now', message: 'machine-config-daemon' };
  const text = textOf(machine.files, path) ?? '';
  const parsed = IgnitionText.safeParse(jsonIn(text));
  if (!parsed.success) return fail(call, `F daemon.go: cannot parse ${path}: not an Ignition`, 255);
  call.signal.throwIfAborted();
  try {
    applyIgnition(machine, parsed.data);
  } catch (error) {
    return fail(call, `F daemon.go: ${error instanceof Error ? error.message : ''}`, 255);
  }
  call.err('I daemon.go: Skipping reboot, as requested\n');
  return 0;
}

/**
 * Writes the files of an Ignition config to a machine, as its first boot does.
 * @throws ZodError if the text is not one
 */
export const writeIgnition = (machine: Machine, text: string): void =>
  applyIgnition(machine, IgnitionText.parse(JSON.parse(text)));

function applyIgnition(machine: Machine, config: IgnitionText): void {
  const { storage, systemd, passwd } = config;
  for (const { path } of storage.directories) {
    mkdirSync(machine.files.real(path), { recursive: true });
  }
  for (const file of storage.files) writeIgnitionFile(machine, file);
  for (const { path, target } of storage.links) {
    const place = placeFor(machine.files, path);
    if (lstatSync(place, { throwIfNoEntry: false }) === undefined) symlinkSync(target, place);
  }
  for (const { name, contents, dropins } of systemd.units) {
    const path = `/etc/systemd/system/${name}`;
    if (contents !== '') writeFileSync(placeFor(machine.files, path), contents);
    for (const dropin of dropins) {
      writeFileSync(placeFor(machine.files, `${path}.d/${dropin.name}`), dropin.contents);
    }
    machine.units.add(name);
  }
  for (const { name, sshAuthorizedKeys } of passwd.users) {
    const place = placeFor(machine.files, `/home/${name}/.ssh/authorized_keys.d/ignition`);
    writeFileSync(place, sshAuthorizedKeys.map((key) => `${key}\n`).join(''), { mode: 0o600 });
  }
}

/**
 * The daemon overwrites an existing file for any value of `overwrite`, unless the file is only
 * appended to.
 */
function writeIgnitionFile(machine: Machine, { path, contents, append, mode }: IgnitionFile): void {
  const place = placeFor(machine.files, path);
  if (append.length === 0)
    writeFileSync(place, bytesOf(contents ?? { source: '', compression: '' }));
  for (const more of append) appendFileSync(place, bytesOf(more));
  if (typeof mode === 'number') chmodSync(place, mode);
}

/** The bytes of a data URL; without a network no other URL is readable. */
export function bytesOf({ source, compression }: Contents): Buffer {
  if (source === '') return Buffer.alloc(0);
  const [, head = '', body] = /^data:([^,]*),(.*)$/s.exec(source) ?? [];
  if (body === undefined) throw new Error(`unsupported source ${source.slice(0, 40)}`);
  const isBase64 = head.endsWith(';base64');
  const bytes = isBase64 ? Buffer.from(body, 'base64') : Buffer.from(decodeURIComponent(body));
  return compression === 'gzip' ? gunzipSync(bytes) : bytes;
}
