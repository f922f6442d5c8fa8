import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { type Call, fail, type Program, type Programs, sortWords } from '../call.ts';
import type { Machine } from '../machine.ts';
import { copyTree, placeFor } from '../files.ts';

const exists = ({ files }: Machine, path: string): boolean => existsSync(files.real(path));

/**
 * Reads each file. An error is printed for a path that is not a file, and the others are read
 * anyway.
 */
const forEachFile =
  (work: (content: Buffer, call: Call, path: string) => void): Program =>
  ({ files }, call) => {
    const [name = '', ...words] = call.argv;
    let exitCode = 0;
    for (const path of sortWords(words).rest) {
      const found = statSync(files.real(path), { throwIfNoEntry: false });
      if (found?.isFile() === true) work(readFileSync(files.real(path)), call, path);
      else {
        const why = found === undefined ? 'No such file or directory' : 'Is a directory';
        exitCode = fail(call, `${name}: ${path}: ${why}`);
      }
    }
    return exitCode;
  };

const cat: Program = (machine, call) => {
  const paths = call.argv.slice(1).filter((word) => word !== '--');
  for (const path of paths) {
    if (!exists(machine, path)) return fail(call, `cat: ${path}: No such file or directory`);
    call.out(readFileSync(machine.files.real(path), 'utf8'));
  }
  return 0;
};

const mkdirProgram: Program = ({ files }, call) => {
  const { rest } = sortWords(call.argv.slice(1), ['-m', '--mode']);
  for (const path of rest) mkdirSync(files.real(path), { recursive: true });
  return 0;
};

const rmProgram: Program = ({ files }, call) => {
  const { rest, has } = sortWords(call.argv.slice(1));
  const recursive = has('-r', '-rf', '-fr', '--recursive');
  for (const path of rest) rmSync(files.real(path), { force: true, recursive });
  return 0;
};

const touch: Program = ({ files }, call) => {
  for (const path of sortWords(call.argv.slice(1)).rest) {
    writeFileSync(placeFor(files, path), '', { flag: 'a' });
  }
  return 0;
};

const ls: Program = (machine, call) => {
  const { rest } = sortWords(call.argv.slice(1));
  for (const path of rest.length > 0 ? rest : ['/']) {
    if (!exists(machine, path)) {
      return fail(call, `ls: cannot access '${path}': No such file or directory`, 2);
    }
    const names = readdirSync(machine.files.real(path));
    for (const name of names.toSorted()) call.out(`${name}\n`);
  }
  return 0;
};

const test: Program = ({ files }, call) => {
  const [option = '', path = ''] = call.argv.slice(1);
  const found = statSync(files.real(path), { throwIfNoEntry: false });
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
  const setMode = (path: string): void => {
    if (call.argv[0] === 'install') chmodSync(path, Number.parseInt(mode, 8));
  };
  if (words.has('--directory')) {
    for (const path of words.rest) {
      mkdirSync(files.real(path), { recursive: true });
      setMode(files.real(path));
    }
    return 0;
  }
  const sources = words.rest.slice(0, -1);
  const to = files.real(words.rest.at(-1) ?? '');
  const isFolder = statSync(to, { throwIfNoEntry: false })?.isDirectory() === true;
  for (const from of sources) {
    const target = isFolder ? join(to, basename(from)) : to;
    mkdirSync(dirname(target), { recursive: true });
    if (await placeOne(machine, call, { from, target })) {
      setMode(target);
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
  if (from === '/dev/null') writeFileSync(target, '');
  else if (from === '/dev/stdin' || from === '-') {
    const chunks: Uint8Array[] = [];
    for await (const bytes of call.stdin) chunks.push(bytes);
    writeFileSync(target, Buffer.concat(chunks));
  } else if (!exists(machine, from)) return false;
  else if (call.argv[0] === 'mv') renameSync(machine.files.real(from), target);
  else if (from.endsWith('/.')) {
    copyTree(machine.files.real(from), target);
  } else copyFileSync(machine.files.real(from), target);
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
const statProgram: Program = (machine, call) => {
  const { rest, all } = sortWords(call.argv.slice(1), ['-c', '--format']);
  const [line = '  File: %n\n  Size: %s'] = all('-c', '--format');
  const [format = `${line}\n`] = all('--printf').map((one) => one.replaceAll(String.raw`\0`, '\0'));
  let exitCode = 0;
  for (const path of rest) {
    if (!exists(machine, path)) {
      exitCode = fail(call, `stat: cannot statx '${path}': No such file or directory`);
      continue;
    }
    const { size, mode } = statSync(machine.files.real(path));
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
const find: Program = (machine, call) => {
  const [path = '.'] = call.argv.slice(1).filter((word) => word !== '-L');
  if (!exists(machine, path)) return fail(call, `find: '${path}': No such file or directory`);
  const root = machine.files.real(path);
  const isFolder = statSync(root).isDirectory();
  const names = isFolder ? readdirSync(root, { recursive: true, encoding: 'utf8' }) : [];
  const pattern = call.argv[call.argv.indexOf('-name') + 1] ?? '';
  if (call.argv.includes('-printf')) printModes(call, root);
  else if (call.argv.includes('-exec')) {
    for (const name of names.filter((one) => one.endsWith(pattern.slice(1)))) {
      call.out(readFileSync(join(root, name), 'utf8'));
    }
  } else if (!call.argv.includes('-name')) {
    for (const name of names) call.out(`${join(path, name)}\n`);
  }
  return 0;
};

function printModes(call: Call, folder: string): void {
  for (const name of readdirSync(folder)) {
    const found = statSync(join(folder, name));
    if (found.isFile()) call.out(`${(found.mode & 0o7777).toString(8)} ${name}\n`);
  }
}

const cmp: Program = ({ files }, call) => {
  const { rest } = sortWords(call.argv.slice(1));
  const [one, other] = rest.map((path) => readFileSync(files.real(path), 'base64'));
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
