// Runs in the built file. V8 has to read the whole of a file before the first line of it runs, and
// for the rest of the program that takes longer than the first report may. So the rest stands
// compressed in a comment at the end, and only what is needed is unpacked and compiled.
import type { PartIndex } from './parts.ts';

declare const bootwrightParts: PartIndex;
declare const bootwrightMarker: string;

const loaded = new Map<string, unknown>();

Object.defineProperty(globalThis, Symbol.for('bootwright.loadPart'), { value: loadPart });

function loadPart(name: string): unknown {
  if (!loaded.has(name)) loaded.set(name, compile(name));
  return loaded.get(name);
}

function compile(name: string): unknown {
  const place = bootwrightParts[name];
  if (place === undefined) throw new RangeError(`no part ${name} in this file`);
  const { compileFunction, constants } = process.getBuiltinModule('node:vm');
  const { createRequire } = process.getBuiltinModule('node:module');
  const run = compileFunction(unpack(place), ['exports', 'require', 'module'], {
    filename: import.meta.url,
    lineOffset: place.line,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER,
  }) as (exports: object, require: NodeJS.Require, module: { exports: unknown }) => void;
  const module = { exports: {} };
  run(module.exports, createRequire(import.meta.url), module);
  return module.exports;
}

/** Offsets of parts count from the marker, which stands behind the last line of code. */
function unpack({ at, length }: PartIndex[string]): string {
  const { readFileSync } = process.getBuiltinModule('node:fs');
  const { zstdDecompressSync } = process.getBuiltinModule('node:zlib');
  const file = readFileSync(new URL(import.meta.url));
  const start = file.lastIndexOf(`/*${bootwrightMarker}\n`) + bootwrightMarker.length + 3 + at;
  const packed = Buffer.from(file.toString('latin1', start, start + length), 'base64');
  return zstdDecompressSync(packed).toString('utf8');
}
