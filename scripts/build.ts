import { chmodSync, mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { build, type Metafile } from 'esbuild';
import {
  buildPart,
  type BuiltPart,
  type FoundParts,
  indexOf,
  lazyBuiltins,
  licencesOf,
  packParts,
  type PackedPart,
  partsPlugin,
} from './build/parts.ts';

const root = resolve(import.meta.dirname, '..');
const dist = resolve(root, 'dist');
const marker = 'bootwright-parts';

/** The file holds code for any Node that reads modules, so that an old one can be told so. */
const entryTarget = 'node18';

/**
 * One arena whose large pieces go back to the system, and small semi-spaces: an agent that mostly
 * waits stays below 100 MiB, and allocates too little for any of it to cost time.
 */
const firstLine = [
  '#!/usr/bin/env -S',
  ...['MALLOC_ARENA_MAX=1', 'MALLOC_MMAP_THRESHOLD_=65536', 'MALLOC_TRIM_THRESHOLD_=65536'],
  'node --max-semi-space-size=1',
].join(' ');

process.chdir(root);
const found: FoundParts = new Map();
await buildEntry(found, {});
const parts = packParts(await buildParts(found));
const entry = await buildEntry(new Map(), indexOf(parts));
write(entry, parts);

interface Entry {
  readonly code: string;
  readonly map: string;
  readonly metafile: Metafile;
}

async function buildEntry(parts: FoundParts, index: ReturnType<typeof indexOf>): Promise<Entry> {
  const { outputFiles, metafile } = await build({
    entryPoints: ['scripts/build/entry.ts'],
    outfile: 'dist/bootwright.mjs',
    bundle: true,
    write: false,
    platform: 'node',
    target: entryTarget,
    format: 'esm',
    sourcemap: 'external',
    sourcesContent: false,
    metafile: true,
    absWorkingDir: root,
    define: {
      bootwrightParts: JSON.stringify(index),
      bootwrightMarker: JSON.stringify(marker),
    },
    banner: { js: firstLine },
    plugins: [lazyBuiltins, partsPlugin(parts, { ownFiles: true })],
  });
  const [map, code] = outputFiles;
  if (map === undefined || code === undefined) throw new Error('the entry was not built');
  return { code: code.text, map: map.text, metafile };
}

/** A part may need further ones; each is built once. */
async function buildParts(wanted: FoundParts): Promise<readonly BuiltPart[]> {
  const built = new Map<string, BuiltPart>();
  for (const [name, path] of wanted) {
    if (!built.has(name)) built.set(name, await buildPart(name, path, wanted));
  }
  return [...built.values()];
}

function write({ code, map, metafile }: Entry, packed: readonly PackedPart[]): void {
  mkdirSync(dist, { recursive: true });
  const file = `${dist}/bootwright.mjs`;
  const comment = [`/*${marker}`, ...packed.map((part) => part.packed), '*/'].join('\n');
  writeFileSync(`${file}.map`, sectionedMap(map, packed));
  // The file reads its own parts while it runs, so it is replaced whole.
  const beside = `${file}.${process.pid}`;
  writeFileSync(beside, `${code}//# sourceMappingURL=bootwright.mjs.map\n${comment}\n`);
  chmodSync(beside, 0o755);
  renameSync(beside, file);
  const metafiles = [metafile, ...packed.map((part) => part.metafile)];
  writeFileSync(`${dist}/licences.txt`, licencesOf(metafiles));
  console.log(sizeLine(code, packed));
}

/**
 * One source map of the form with sections (ECMA-426): the file itself, then each part. Node 24
 * takes such a map only when it has a list of sources beside its sections.
 */
function sectionedMap(map: string, packed: readonly PackedPart[]): string {
  const sections = [
    { offset: { line: 0, column: 0 }, map: JSON.parse(map) as unknown },
    ...packed.map((part) => ({
      offset: { line: part.line, column: 0 },
      map: JSON.parse(part.map) as unknown,
    })),
  ];
  return JSON.stringify({ version: 3, file: 'bootwright.mjs', sources: [], sections });
}

function sizeLine(code: string, packed: readonly PackedPart[]): string {
  const kilobytes = (text: string): string => `${Math.round(Buffer.byteLength(text) / 1000)} kB`;
  const total = [code, ...packed.map((part) => part.packed)].join('\n');
  const list = packed.map(
    (part) => `${part.name} ${kilobytes(part.code)} (${kilobytes(part.packed)} packed)`,
  );
  return `bootwright.mjs ${kilobytes(total)}: entry ${kilobytes(code)}, ${list.join(', ')}`;
}
