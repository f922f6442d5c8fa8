import { existsSync, readdirSync, rmSync, statSync, symlinkSync } from 'node:fs';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { fail, type Program, type Programs, sortWords } from '../call.ts';
import { isFrozen, waitForThaw } from './filesystems.ts';
import { copyTree } from '../files.ts';

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

/** The program that makes links. */
export const linkPrograms: Programs = { ln };

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

/** Programs that measure and copy trees. */
export const copyingPrograms: Programs = { du, rsync };
