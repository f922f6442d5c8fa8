import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { type Call, fail, type Program, type Programs, sortWords } from '../call.ts';
import type { Machine } from '../machine.ts';
import {
  chmod,
  copyFile,
  copyTree,
  isThere,
  mkdir,
  placeFor,
  readBytes,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from '../files.ts';

const exists = async ({ files }: Machine, path: string): Promise<boolean> =>
  isThere(await files.real(path));

/**
 * Reads each file. An error is printed for a path that is not a file, and the others are read
 * anyway.
 */
const forEachFile =
  (work: (content: Buffer, call: Call, path: string) => void): Program =>
  async ({ files }, call) => {
    const [name = '', ...words] = call.argv;
    let exitCode = 0;
    for (const path of sortWords(words).rest) {
      const found = await stat(await files.real(path)).catch(() => undefined);
      if (found?.isFile() === true) work(await readBytes(await files.real(path)), call, path);
      else {
        const why = found === undefined ? 'No such file or directory' : 'Is a directory';
        exitCode = fail(call, `${name}: ${path}: ${why}`);
      }
    }
    return exitCode;
  };

const cat: Program = async (machine, call) => {
  const paths = call.argv.slice(1).filter((word) => word !== '--');
  for (const path of paths) {
    if (!(await exists(machine, path)))
      return fail(call, `cat: ${path}: No such file or directory`);
    call.out(await readFile(await machine.files.real(path), 'utf8'));
  }
  return 0;
};

const mkdirProgram: Program = async ({ files }, call) => {
  const { rest } = sortWords(call.argv.slice(1), ['-m', '--mode']);
  for (const path of rest) await mkdir(await files.real(path), { recursive: true });
  return 0;
};

const rmProgram: Program = async ({ files }, call) => {
  const { rest, has } = sortWords(call.argv.slice(1));
  const recursive = has('-r', '-rf', '-fr', '--recursive');
  for (const path of rest) await rm(await files.real(path), { force: true, recursive });
  return 0;
};

const touch: Program = async ({ files }, call) => {
  for (const path of sortWords(call.argv.slice(1)).rest) {
    await writeFile(await placeFor(files, path), '', { flag: 'a' });
  }
  return 0;
};

const ls: Program = async (machine, call) => {
  const { rest } = sortWords(call.argv.slice(1));
  for (const path of rest.length > 0 ? rest : ['/']) {
    if (!(await exists(machine, path))) {
      return fail(call, `ls: cannot access '${path}': No such file or directory`, 2);
    }
    const names = await readdir(await machine.files.real(path));
    for (const name of names.toSorted()) call.out(`${name}\n`);
  }
  return 0;
};

const test: Program = async ({ files }, call) => {
  const [option = '', path = ''] = call.argv.slice(1);
  const found = await stat(await files.real(path)).catch(() => undefined);
  if (found === undefined) return 1;
  const isTrue: Readonly<Record<string, boolean>> = {
    '-e': true,
    '-f': found.isFile(),
    '-d': found.isDirectory(),
    '-x': (found.mode & 0o111) !== 0,
  };
  return isTrue[option] === true ? 0 : 1;
};

/** `cp`, `mv` and `install`: into an existing folder, otherwise to the last name. */
const place: Program = async (machine, call) => {
  const { files } = machine;
  const words = sortWords(call.argv.slice(1), ['--mode']);
  const [mode = '0755'] = words.all('--mode');
  const setMode = async (path: string): Promise<void> => {
    if (call.argv[0] === 'install') await chmod(path, Number.parseInt(mode, 8));
  };
  if (words.has('--directory')) {
    for (const path of words.rest) {
      await mkdir(await files.real(path), { recursive: true });
      await setMode(await files.real(path));
    }
    return 0;
  }
  const sources = words.rest.slice(0, -1);
  const to = await files.real(words.rest.at(-1) ?? '');
  const isFolder = (await stat(to).catch(() => undefined))?.isDirectory() === true;
  for (const from of sources) {
    const target = isFolder ? join(to, basename(from)) : to;
    await mkdir(dirname(target), { recursive: true });
    if (await placeOne(machine, call, { from, target })) {
      await setMode(target);
      continue;
    }
    return fail(call, `${call.argv[0] ?? ''}: cannot stat '${from}': No such file or directory`);
  }
  return 0;
};

async function placeOne(
  machine: Machine,
  call: Call,
  { from, target }: { readonly from: string; readonly target: string },
): Promise<boolean> {
  if (from === '/dev/null') await writeFile(target, '');
  else if (from === '/dev/stdin' || from === '-') {
    const chunks: Uint8Array[] = [];
    for await (const bytes of call.stdin) chunks.push(bytes);
    await writeFile(target, Buffer.concat(chunks));
  } else if (!(await exists(machine, from))) return false;
  else if (call.argv[0] === 'mv') await rename(await machine.files.real(from), target);
  else if (from.endsWith('/.')) {
    await copyTree(await machine.files.real(from), target);
  } else await copyFile(await machine.files.real(from), target);
  return true;
}

/**
 * A name with a backslash or a line feed is printed escaped, after a backslash; with `--zero` it
 * never is.
 */
const sha256sum = forEachFile((content, call, path) => {
  const sum = createHash('sha256').update(content).digest('hex');
  const escaped = path.replaceAll('\\', '\\\\').replaceAll('\n', String.raw`\n`);
  if (sortWords(call.argv).has('-z', '--zero')) call.out(`${sum}  ${path}\0`);
  else call.out(`${escaped === path ? '' : '\\'}${sum}  ${escaped}\n`);
});

/** Prints a part of a file as hexadecimal bytes. */
const od = forEachFile((content, call) => {
  const { all } = sortWords(call.argv);
  const [[most = ''], [from = '0']] = [all('--read-bytes'), all('--skip-bytes')];
  call.out(`${content.subarray(Number(from)).subarray(0, Number(most)).toString('hex')}\n`);
});

/**
 * An error is printed for a missing path, and the others are printed anyway. Files without a user
 * belong to root.
 */
const statProgram: Program = async (machine, call) => {
  const { rest, all } = sortWords(call.argv.slice(1), ['-c', '--format']);
  const [line = '  File: %n\n  Size: %s'] = all('-c', '--format');
  const [format = `${line}\n`] = all('--printf').map((one) => one.replaceAll(String.raw`\0`, '\0'));
  let exitCode = 0;
  for (const path of rest) {
    if (!(await exists(machine, path))) {
      exitCode = fail(call, `stat: cannot statx '${path}': No such file or directory`);
      continue;
    }
    const { size, mode } = await stat(await machine.files.real(path));
    const owner = /^\/home\/([^/]+)/.exec(path)?.[1] ?? 'root';
    const id = owner === 'root' ? '0' : '1000';
    const values: Readonly<Record<string, string>> = {
      '%n': path,
      '%s': String(size),
      '%a': (mode & 0o7777).toString(8),
      '%U': owner,
      '%G': owner,
      '%u': id,
      '%g': id,
    };
    call.out(format.replaceAll(/%[a-zA-Z]/g, (word) => values[word] ?? word));
  }
  return exitCode;
};

/**
 * `find` with `-exec cat {} +` prints the files that match `-name '*.EXTENSION'`, `-printf` prints
 * mode and name of the files in a folder, and `-name` alone finds nothing.
 */
const find: Program = async (machine, call) => {
  const [path = '.'] = call.argv.slice(1).filter((word) => word !== '-L');
  if (!(await exists(machine, path)))
    return fail(call, `find: '${path}': No such file or directory`);
  const root = await machine.files.real(path);
  const isFolder = (await stat(root)).isDirectory();
  const names = isFolder ? await readdir(root, { recursive: true }) : [];
  const pattern = call.argv[call.argv.indexOf('-name') + 1] ?? '';
  if (call.argv.includes('-printf')) await printModes(call, root);
  else if (call.argv.includes('-exec')) {
    for (const name of names.filter((one) => one.endsWith(pattern.slice(1)))) {
      call.out(await readFile(join(root, name), 'utf8'));
    }
  } else if (!call.argv.includes('-name')) {
    for (const name of names) call.out(`${join(path, name)}\n`);
  }
  return 0;
};

async function printModes(call: Call, folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const found = await stat(join(folder, name));
    if (found.isFile()) call.out(`${(found.mode & 0o7777).toString(8)} ${name}\n`);
  }
}

const cmp: Program = async ({ files }, call) => {
  const { rest } = sortWords(call.argv.slice(1));
  const [one = '', other = ''] = await Promise.all(
    rest.map(async (path) => readFile(await files.real(path), 'base64')),
  );
  return one === other ? 0 : fail(call, `${rest.join(' ')} differ: byte 1, line 1`);
};

/** Programs that work on files. */
export const filePrograms: Programs = {
  cat,
  mkdir: mkdirProgram,
  rm: rmProgram,
  touch,
  ls,
  test,
  cp: place,
  mv: place,
  install: place,
  cmp,
  sha256sum,
  od,
  stat: statProgram,
  find,
};
