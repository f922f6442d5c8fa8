import { join } from 'node:path';
import { fail, type Program, type Programs } from '../call.ts';
import { copyTree, readdir, stat } from '../prompt-files.ts';
import { sortWords } from './words.ts';

/** `du -sb PATH…`: the sum of the apparent sizes. */
const du: Program = async ({ files }, call) => {
  for (const path of sortWords(call.argv.slice(1)).rest) {
    const place = await files.real(path);
    const found = await stat(place).catch(() => undefined);
    if (found === undefined) {
      return fail(call, `du: cannot access '${path}': No such file or directory`);
    }
    const names = found.isDirectory() ? await readdir(place, { recursive: true }) : [];
    const sizes = await Promise.all(
      names.map(async (name) => (await stat(join(place, name))).size),
    );
    call.out(`${sizes.reduce((sum, size) => sum + size, found.size)}\t${path}\n`);
  }
  return 0;
};

/** Copies a directory's content; tells how far it is as `--info=progress2` does. */
const rsync: Program = async ({ files }, call) => {
  const { rest, has, all } = sortWords(call.argv.slice(1));
  const [from = '', to = ''] = rest;
  const source = await files.real(from);
  const target = await files.real(to);
  const isThere = await stat(source).then(
    () => true,
    () => false,
  );
  if (!isThere) {
    return fail(
      call,
      `rsync: [sender] change_dir "${from}" failed: No such file or directory (2)`,
      23,
    );
  }
  const tells = has('--info') && all('--info').includes('progress2');
  if (tells) call.out('              0   0%    0.00kB/s    0:00:00 \r');
  await copyTree(source, target);
  if (tells) {
    for (const percent of [37, 74, 100])
      call.out(`         ${percent}.00M ${percent}%   85.21MB/s    0:00:01 \r`);
    call.out('\n');
  }
  return 0;
};

/** Programs that measure and copy trees. */
export const copyingPrograms: Programs = { du, rsync };
