// ignition-ostree-transposefs.sh of fedora-coreos-config: it uses any device with the label root,
// makes no copy if its folder exists, and moves the copy back.
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { type Call, fail } from '../call.ts';
import { copyTree } from '../files.ts';
import type { Machine } from '../machine.ts';
import { partitionFolder } from '../partition-files.ts';

const SAVED = '/run/ignition-ostree-transposefs';
const STAMP = '/run/ignition-ostree-autosaved-xfs.stamp';

/** Runs one of the three verbs that the agent uses. */
export function transpose(machine: Machine, call: Call, script: string): number {
  const { devices, files } = machine;
  const saved = files.real(SAVED);
  const copy = join(saved, 'root');
  if (script.endsWith('cleanup')) {
    rmSync(saved, { force: true, recursive: true });
    return 0;
  }
  const root = devices.byPath('/dev/disk/by-label/root');
  if (root === undefined) return fail(call, 'No filesystem labeled root found');
  if (devices.mounts.some(({ source }) => devices.byPath(source) === root)) {
    return fail(call, `mkfs.xfs: /dev/${root.kname} contains a mounted filesystem`);
  }
  const folder = partitionFolder(machine, root);
  if (script.endsWith('restore')) {
    if (!existsSync(copy)) return 0;
    const names = readdirSync(copy);
    for (const name of names) {
      if (existsSync(join(folder, name))) {
        return fail(call, `mv: inter-device move failed: unable to remove target '${name}'`);
      }
      renameSync(join(copy, name), join(folder, name));
    }
    return 0;
  }
  if (!existsSync(copy)) {
    mkdirSync(copy, { recursive: true });
    copyTree(folder, copy);
  }
  rmSync(folder, { force: true, recursive: true });
  mkdirSync(folder);
  root.content = { fstype: 'xfs', label: 'root', uuid: randomUUID() };
  machine.stores.set(root.kname, root.content.uuid);
  writeFileSync(files.real(STAMP), '');
  return 0;
}
