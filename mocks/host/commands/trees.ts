import {
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { type Call, fail, type Program, type Programs, sortWords } from '../call.ts';
import { isFrozen, waitForThaw } from './filesystems.ts';
import { copyTree } from '../files.ts';
import { randomUUID } from 'node:crypto';
import type { Machine } from '../machine.ts';
import { partitionFolder } from '../partition-files.ts';

/** `ln -s[fn] TARGET LINK`. An absolute target leads to the host's own files here. */
const ln: Program = ({ files }, call) => {
  const { rest } = sortWords(call.argv.slice(1));
  const [target = '', link = ''] = rest;
  const [, options = ''] = call.argv;
  if (!/^-s[fn]*$/.test(options)) return fail(call, 'ln: only symbolic links are in the lab');
  const place = files.real(link);
  const leadsTo = isAbsolute(target) ? relative(dirname(place), join(files.root, target)) : target;
  try {
    if (options.includes('f')) rmSync(place, { force: true });
    symlinkSync(leadsTo, place);
    return 0;
  } catch (error) {
    return fail(call, `ln: failed to create symbolic link '${link}': ${String(error)}`);
  }
};

/** `du -sb PATH…`: the sum of the apparent sizes. */
const du: Program = ({ files }, call) => {
  for (const path of sortWords(call.argv.slice(1)).rest) {
    const place = files.real(path);
    const found = statSync(place, { throwIfNoEntry: false });
    if (found === undefined) {
      return fail(call, `du: cannot access '${path}': No such file or directory`);
    }
    const names = found.isDirectory()
      ? readdirSync(place, { recursive: true, encoding: 'utf8' })
      : [];
    const sizes = names.map((name) => statSync(join(place, name)).size);
    call.out(`${sizes.reduce((sum, size) => sum + size, found.size)}\t${path}\n`);
  }
  return 0;
};

/** Copies the content of a directory; prints its progress like `--info=progress2`. */
const rsync: Program = (machine, call) => {
  const { files } = machine;
  const { rest, has, all } = sortWords(call.argv.slice(1));
  const [from = '', to = ''] = rest;
  if (isFrozen(machine, to)) return waitForThaw(call, to);
  const source = files.real(from);
  const target = files.real(to);
  if (!existsSync(source)) {
    return fail(
      call,
      `rsync: [sender] change_dir "${from}" failed: No such file or directory (2)`,
      23,
    );
  }
  const showsProgress = has('--info') && all('--info').includes('progress2');
  if (showsProgress) call.out('              0   0%    0.00kB/s    0:00:00 \r');
  copyTree(source, target);
  if (showsProgress) {
    for (const percent of [37, 74, 100])
      call.out(`         ${percent}.00M ${percent}%   85.21MB/s    0:00:01 \r`);
    call.out('\n');
  }
  return 0;
};

// ignition-ostree-transposefs.sh of fedora-coreos-config: it uses any device with the label root,
// makes no copy if its folder exists, and moves the copy back.

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

/** Programs that measure and copy trees, and make links. */
export const copyingPrograms: Programs = { du, rsync, ln };
