// Calls on the files of a simulated host. They are small and lie in memory or in a cache: each call is done at once,
// since handing it to a thread and back takes many times as long.
import {
  appendFileSync,
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';

/** Does a call now and answers as the calls of `node:fs/promises` do; what it throws rejects. */
const atOnce =
  <Words extends readonly unknown[], Answer>(call: (...words: Words) => Answer) =>
  (...words: Words): Promise<Answer> =>
    new Promise((resolve) => resolve(call(...words)));

interface Deep {
  readonly recursive: boolean;
}

/** The bytes of a file. */
export const readBytes = atOnce((path: string): Buffer => readFileSync(path));
/** The text of a file, by the encoding that is named. */
export const readFile = atOnce((path: string, encoding: BufferEncoding): string =>
  readFileSync(path, encoding),
);
/** Writes a file whole, or to its end with the flag `a`. */
export const writeFile = atOnce(
  (
    path: string,
    content: string | Uint8Array,
    options: { readonly mode?: number; readonly flag?: string } = {},
  ): void => writeFileSync(path, content, options),
);
/** Adds to a file. */
export const appendFile = atOnce((path: string, content: string | Uint8Array): void =>
  appendFileSync(path, content),
);
/** Makes a directory, with those above it when asked. */
export const mkdir = atOnce(
  (path: string, options: Deep = { recursive: false }): void => void mkdirSync(path, options),
);
/** Names in a directory, of everything below it when asked. */
export const readdir = atOnce(
  (path: string, options: Deep = { recursive: false }): readonly string[] =>
    readdirSync(path, { ...options, encoding: 'utf8' }),
);
/** Removes a file, or a tree. */
export const rm = atOnce(
  (path: string, options: { readonly force: boolean; readonly recursive?: boolean }): void =>
    rmSync(path, options),
);
/** Copies a tree over what is there. */
export const copyTree = atOnce((from: string, to: string): void =>
  cpSync(from, to, { recursive: true, force: true }),
);
/** Copies a file. */
export const copyFile = atOnce((from: string, to: string): void => copyFileSync(from, to));
/** Gives a file another name. */
export const rename = atOnce((from: string, to: string): void => renameSync(from, to));
/** Makes a symbolic link. */
export const symlink = atOnce((target: string, path: string): void => symlinkSync(target, path));
/** A path with every symbolic link followed. */
export const realpath = atOnce((path: string): string => realpathSync.native(path));
/** Sets the permissions of a file. */
export const chmod = atOnce((path: string, mode: number): void => chmodSync(path, mode));
/** What a path leads to. */
export const stat = atOnce((path: string): Stats => statSync(path));
