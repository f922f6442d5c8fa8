import { readFileSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { constants, zstdCompressSync } from 'node:zlib';
import { build, type Metafile, type Plugin } from 'esbuild';

/** Where a part stands behind the marker, and the line that its first one counts as. */
export type PartIndex = Readonly<
  Record<string, { readonly at: number; readonly length: number; readonly line: number }>
>;

/** A piece of the program that is bundled by itself. */
export interface BuiltPart {
  readonly name: string;
  readonly code: string;
  readonly map: string;
  readonly metafile: Metafile;
}

/** A part with its place among the packed parts. */
export interface PackedPart extends BuiltPart {
  readonly packed: string;
  readonly at: number;
  readonly line: number;
}

/** Parts found while bundling: their names, each with what esbuild begins at. */
export type FoundParts = Map<string, string>;

/** Lines are numbered in blocks, so that one source map serves the file and every part of it. */
const linesOfPart = 1_000_000;

/**
 * Makes every import() of a package a part of its own, and with `ownFiles` those of our own files
 * too. A part is loaded by the function that load-part.ts leaves behind.
 */
export function partsPlugin(found: FoundParts, { ownFiles }: { ownFiles: boolean }): Plugin {
  return {
    name: 'parts',
    setup: (bundle) => {
      bundle.onResolve({ filter: /.*/ }, ({ kind, path, resolveDir }) => {
        if (kind !== 'dynamic-import' || path.startsWith('node:')) return undefined;
        if (resolveDir.includes('node_modules')) return undefined;
        const isOwn = path.startsWith('.') || isAbsolute(path);
        if (isOwn && !ownFiles) return undefined;
        const name = isOwn ? path.replace(/^.*\//, '').replace(/\.ts$/, '') : path;
        found.set(name, isOwn ? resolve(resolveDir, path) : path);
        return { path: name, namespace: 'part' };
      });
      bundle.onLoad({ filter: /.*/, namespace: 'part' }, ({ path }) => ({
        contents: `module.exports = globalThis[Symbol.for('bootwright.loadPart')](${JSON.stringify(path)});`,
      }));
    },
  };
}

/** An import of one of Node's own modules evaluates every lazy export of it; this does not. */
export const lazyBuiltins: Plugin = {
  name: 'lazy-builtins',
  setup: (bundle) => {
    bundle.onResolve({ filter: /^node:/ }, ({ path }) => ({ path, namespace: 'builtin' }));
    bundle.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => {
      const names = Object.keys(process.getBuiltinModule(path) ?? {});
      const lines = names.map((name) => `export const ${name} = /* @__PURE__ */ take('${name}');`);
      return {
        contents: [
          `const builtin = process.getBuiltinModule('${path}');`,
          'const take = (name) => builtin[name];',
          ...lines,
        ].join('\n'),
      };
    });
  },
};

/** zod keeps its messages in every language; ours are in one. */
const oneLanguage: Plugin = {
  name: 'one-language',
  setup: (bundle) => {
    bundle.onLoad({ filter: /zod\/v4\/locales\/index\.js$/ }, () => ({
      contents: "export { default as en } from './en.js';",
    }));
  },
};

/** Bundles a part; `found` gets the parts that it needs in turn. */
export async function buildPart(
  name: string,
  entry: string,
  found: FoundParts,
): Promise<BuiltPart> {
  const { outputFiles, metafile } = await build({
    entryPoints: [entry],
    outfile: 'part.cjs',
    bundle: true,
    write: false,
    platform: 'node',
    target: 'node24',
    format: 'cjs',
    sourcemap: 'external',
    sourcesContent: false,
    legalComments: 'none',
    metafile: true,
    absWorkingDir: resolve(import.meta.dirname, '../..'),
    plugins: [oneLanguage, partsPlugin(found, { ownFiles: false })],
  });
  const [map, code] = outputFiles;
  if (map === undefined || code === undefined) throw new Error(`${name}: nothing was built`);
  return { name, code: code.text, map: map.text, metafile };
}

/** Packs parts one behind the other, a line each. */
export function packParts(parts: readonly BuiltPart[]): readonly PackedPart[] {
  let at = 0;
  return parts.map((part, index) => {
    const packed = zstdCompressSync(part.code, {
      params: { [constants.ZSTD_c_compressionLevel]: 19 },
    }).toString('base64');
    const placed = { ...part, packed, at, line: (index + 1) * linesOfPart };
    at += packed.length + 1;
    return placed;
  });
}

/** The index of packed parts, as load-part.ts reads it. */
export const indexOf = (parts: readonly PackedPart[]): PartIndex =>
  Object.fromEntries(
    parts.map(({ name, at, packed, line }) => [name, { at, length: packed.length, line }]),
  );

/** The licence texts of every package that went into a bundle. */
export function licencesOf(metafiles: readonly Metafile[]): string {
  const folders = new Set(
    metafiles.flatMap(({ inputs }) =>
      Object.keys(inputs).flatMap((path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []),
    ),
  );
  return [...folders].sort().map(licenceOf).join('\n');
}

function licenceOf(folder: string): string {
  const { name, version, license } = JSON.parse(
    readFileSync(`${folder}/package.json`, 'utf8'),
  ) as Record<string, string>;
  return `${name ?? folder} ${version ?? ''} (${license ?? 'no licence named'})\n\n${licenceText(folder)}\n`;
}

const licenceNames = ['LICENSE', 'LICENSE.md', 'LICENSE.txt', 'LICENCE', 'license', 'LICENSE-MIT'];

function licenceText(folder: string): string {
  for (const name of licenceNames) {
    try {
      return readFileSync(`${folder}/${name}`, 'utf8');
    } catch {
      continue;
    }
  }
  return 'The package holds no licence text.\n';
}
