import { dirname, isAbsolute, join, relative } from 'node:path';
import { fail, type Program, type Programs } from '../call.ts';
import { realpath, rm, symlink } from '../prompt-files.ts';
import { sortWords } from './words.ts';

const realpathProgram: Program = async ({ files }, call) => {
  const { rest } = sortWords(call.argv.slice(1));
  const root = await realpath(files.root);
  for (const path of rest) {
    const real = await realpath(await files.real(path)).catch(() => undefined);
    if (real === undefined)
      return fail(call, `${call.argv[0] ?? ''}: ${path}: No such file or directory`);
    call.out(`/${relative(root, real)}\n`);
  }
  return 0;
};

/** `ln -s[fn] TARGET LINK`. What is absolute on the host leads to the host's own files here. */
const ln: Program = async ({ files }, call) => {
  const { rest } = sortWords(call.argv.slice(1));
  const [target = '', link = ''] = rest;
  const [, options = ''] = call.argv;
  if (!/^-s[fn]*$/.test(options)) return fail(call, 'ln: only symbolic links are in the lab');
  const place = await files.real(link);
  const leadsTo = isAbsolute(target) ? relative(dirname(place), join(files.root, target)) : target;
  try {
    if (options.includes('f')) await rm(place, { force: true });
    await symlink(leadsTo, place);
    return 0;
  } catch (error) {
    return fail(call, `ln: failed to create symbolic link '${link}': ${String(error)}`);
  }
};

/** Programs that make links and follow them. */
export const linkPrograms: Programs = { ln, realpath: realpathProgram };
