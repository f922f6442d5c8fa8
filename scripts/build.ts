// Makes dist/ of the sources: the program, its chunks and their source maps, and the licences of
// their packages.
import { chmodSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { cyclonedxEsbuildPlugin } from '@cyclonedx/cyclonedx-esbuild';
import { build, type Metafile, type Plugin } from 'esbuild';
import { revisionFile } from './bundle.ts';
import { revisionOf } from './build/source.ts';

const top = resolve(import.meta.dirname, '..');
const dist = resolve(top, 'dist');
process.chdir(top);

/** An import of one of Node's own modules evaluates every lazy export of it; this does not. */
const lazyBuiltins: Plugin = {
  name: 'lazy-builtins',
  setup: (bundle) => {
    bundle.onResolve({ filter: /^node:/ }, ({ path, kind }) =>
      kind === 'import-statement' ? { path, namespace: 'builtin' } : undefined,
    );
    bundle.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => {
      const names = Object.keys(process.getBuiltinModule(path) ?? {});
      const lines = names.map((name) => `export const ${name} = /* @__PURE__ */ take('${name}');`);
      return {
        contents: [
          `const builtin = process.getBuiltinModule('${path}');`,
          'const take = (name) => builtin[name];',
          'export default builtin;',
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

/**
 * Loaded by a package at its start and never needed: commander's subcommands that are programs,
 * undici's HTTP/2.
 */
const unneeded: Readonly<Record<string, string>> = {
  'node:child_process': '/node_modules/commander/',
  'node:http2': '/node_modules/undici/',
};

const noneOfTheUnneeded: Plugin = {
  name: 'none-of-the-unneeded',
  setup: (bundle) => {
    bundle.onResolve({ filter: /^node:/ }, ({ path, importer }) =>
      importer.includes(unneeded[path] ?? ' ') ? { path, namespace: 'absent' } : undefined,
    );
    bundle.onLoad({ filter: /.*/, namespace: 'absent' }, () => ({
      contents: 'export const constants = {}; export default {};',
    }));
  },
};

const sbom = 'bootwright.cdx.json';

/**
 * Lists the packages that got into the program; without date and serial number, so the same input
 * gives the same.
 */
const billOfMaterials = cyclonedxEsbuildPlugin({
  outputFile: sbom,
  outputReproducible: true,
  validate: true,
  // A failure is thrown.
  logLevel: 'silent',
});

/** Packages of CommonJS require only modules of Node at run time; the rest is bundled. */
const requireForPackages = 'const require = (name) => process.getBuiltinModule(name);';

const revision = revisionOf(top);

const { metafile, outputFiles } = await build({
  entryPoints: { bootwright: 'scripts/build/entry.ts' },
  outdir: dist,
  outExtension: { '.js': '.mjs' },
  chunkNames: '[name]-[hash]',
  bundle: true,
  splitting: true,
  write: false,
  platform: 'node',
  minifyWhitespace: true,
  minifySyntax: true,
  mainFields: ['module', 'main'],
  target: 'node24',
  format: 'esm',
  sourcemap: 'linked',
  sourcesContent: false,
  legalComments: 'none',
  metafile: true,
  banner: { js: requireForPackages },
  define: { builtFrom: JSON.stringify(revision) },
  plugins: [noneOfTheUnneeded, lazyBuiltins, oneLanguage, billOfMaterials],
});

mkdirSync(dist, { recursive: true });
for (const { path, contents } of outputFiles) writeFileSync(path, contents);
chmodSync(`${dist}/bootwright.mjs`, 0o755);
writeFileSync(`${dist}/${revisionFile}`, revision);
const current = new Set([sbom, revisionFile, ...outputFiles.map(({ path }) => basename(path))]);
// Removes the files of an earlier build; folders are of others, such as that of the releases.
for (const entry of readdirSync(dist, { withFileTypes: true }))
  if (entry.isFile() && !current.has(entry.name)) rmSync(`${dist}/${entry.name}`);
// Written last: its age shows whether a build is complete and current.
writeFileSync(`${dist}/licences.txt`, licencesOf(metafile));
const bytes = outputFiles.reduce((sum, { contents }) => sum + contents.length, 0);
console.log(
  `dist: ${outputFiles.length / 2} files, ${(bytes / 1e6).toFixed(1)} MB with their maps`,
);

/** The licence texts of every package of which a part went into the program. */
function licencesOf({ outputs }: Metafile): string {
  const folders = Object.values(outputs)
    .flatMap(({ inputs }) => Object.entries(inputs))
    .filter(([, { bytesInOutput }]) => bytesInOutput > 0)
    .flatMap(([path]) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path) ?? []);
  return [...new Set(folders)].sort().map(licenceOf).join('\n');
}

function licenceOf(folder: string): string {
  const { name, version, license } = JSON.parse(
    readFileSync(`${folder}/package.json`, 'utf8'),
  ) as Record<string, string>;
  const file = readdirSync(folder).find((one) =>
    /^licen[cs]e(?:-mit)?(?:\.(?:md|txt))?$/i.test(one),
  );
  const text =
    file === undefined
      ? 'The package holds no licence text.\n'
      : readFileSync(`${folder}/${file}`, 'utf8');
  return `${name ?? folder} ${version ?? ''} (${license ?? 'no licence named'})\n\n${text}\n`;
}
