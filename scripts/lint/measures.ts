// Measures the sources without their tests: node scripts/lint/measures.ts [--check] [FOLDER...]
// With folders it also lists what is behind the numbers.
import { globSync, readFileSync } from 'node:fs';
import { posix, resolve } from 'node:path';
import { percentile } from '../bench/figure.ts';

const root = resolve(import.meta.dirname, '../..');

/** A source file as the measures see it; paths go from the top of the tree. */
export interface Source {
  readonly path: string;
  readonly lines: number;
  readonly imports: readonly string[];
  readonly exports: readonly string[];
}

/** Files and lines of TypeScript in a folder, tests apart. */
export interface RoomSize {
  readonly files: number;
  readonly lines: number;
}

/** What the sources under one folder come to. */
interface Measures extends RoomSize {
  readonly median: number;
  /** Files that exactly one file imports, with that one. */
  readonly onlyImporters: ReadonlyMap<string, string>;
  /** Names that more than one file declares and exports, with those files. */
  readonly sharedNames: ReadonlyMap<string, readonly string[]>;
}

/** Files and lines of each room of `src`. A change that needs more takes it from another room; see docs/adr/0031. */
const rooms: Readonly<Record<string, readonly [files: number, lines: number]>> = {
  adapters: [58, 9_316],
  capi: [33, 8_264],
  cli: [59, 9_923],
  cluster: [18, 2_357],
  config: [19, 2_813],
  controllers: [48, 8_626],
  engine: [15, 2_138],
  ignition: [18, 2_978],
  layering: [46, 8_409],
  lib: [23, 1_810],
  'main.ts': [1, 36],
  model: [6, 277],
  os: [9, 1_129],
  page: [15, 2_346],
  ports: [14, 1_020],
  reconcile: [7, 1_061],
  reporting: [7, 1_100],
  roles: [9, 433],
  steps: [105, 18_291],
};

const sum = (at: 0 | 1): number => Object.values(rooms).reduce((all, room) => all + room[at], 0);

/** What each folder keeps; a missing number is not bounded. */
const bounds: Readonly<Record<string, Partial<Record<keyof Measures, number>>>> = {
  src: { files: sum(0), lines: sum(1), onlyImporters: 127, sharedNames: 7, median: 90 },
  mocks: { lines: 17_009 },
  scripts: { lines: 7_220 },
  ...Object.fromEntries(
    Object.entries(rooms).map(([room, [files, lines]]) => [`src/${room}`, { files, lines }]),
  ),
};

const importPattern = /(?:from|import)\s*\(?\s*'(\.[^']+)'/g;
const exportPattern =
  /^export (?:declare )?(?:default )?(?:abstract )?(?:async )?(?:function\*?|class|const|let|interface|type|enum) ([A-Za-z_$][\w$]*)/gm;

/** Reads all sources of the tree that are not tests. */
export function readSources(): readonly Source[] {
  return globSync('{src,mocks,scripts}/**/*.ts', { cwd: root })
    .filter((path) => !path.endsWith('.test.ts'))
    .sort()
    .map((path) => {
      const text = readFileSync(resolve(root, path), 'utf8');
      const found = (pattern: RegExp): string[] =>
        [...text.matchAll(pattern)].map(([, name = '']) => name);
      return {
        path,
        lines: text.split('\n').length - 1,
        imports: found(importPattern).map((name) => posix.join(posix.dirname(path), name)),
        exports: found(exportPattern),
      };
    });
}

const isIn = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(`${folder}/`);

/** How large a folder is. */
export function sizeOf(sources: readonly Source[], folder: string): RoomSize {
  const inside = sources.filter(({ path }) => isIn(path, folder));
  return { files: inside.length, lines: inside.reduce((sum, { lines }) => sum + lines, 0) };
}

/** Measures the sources in a folder; importers count wherever they are. */
function measure(sources: readonly Source[], folder: string): Measures {
  const inside = sources.filter(({ path }) => isIn(path, folder));
  const importers = new Map<string, Set<string>>();
  for (const { path, imports } of sources) {
    for (const name of imports) importers.set(name, (importers.get(name) ?? new Set()).add(path));
  }
  const declaring = new Map<string, readonly string[]>();
  const top = folder.replace(/\/.*/, '');
  for (const { path, exports } of sources.filter((source) => isIn(source.path, top))) {
    for (const name of new Set(exports))
      declaring.set(name, [...(declaring.get(name) ?? []), path]);
  }
  return {
    ...sizeOf(sources, folder),
    median: percentile(
      inside.map(({ lines }) => lines),
      50,
    ),
    onlyImporters: new Map(
      inside.flatMap(({ path }) => {
        const [only, ...more] = importers.get(path) ?? [];
        return only === undefined || more.length > 0 ? [] : [[path, only]];
      }),
    ),
    sharedNames: new Map(
      [...declaring].filter(
        ([, paths]) => paths.length > 1 && paths.some((path) => isIn(path, folder)),
      ),
    ),
  };
}

/** One line for each number: the folder, what is counted, and the bound where there is one. */
function linesOf(folder: string, measures: Measures): readonly (readonly [string, boolean])[] {
  const { median = 0, ...most } = bounds[folder] ?? {};
  const line = (what: string, value: number, limit?: number): [string, boolean] => [
    `${folder}: ${value} ${what}${limit === undefined ? '' : ` (at most ${limit})`}`,
    limit === undefined || value <= limit,
  ];
  const sizes = [
    line('files', measures.files, most.files),
    line('lines', measures.lines, most.lines),
  ];
  // Of a room only its budget.
  if (most.lines !== undefined && folder.startsWith('src/')) return sizes;
  return [
    ...sizes,
    [
      `${folder}: median of ${measures.median} lines${median > 0 ? ` (at least ${median})` : ''}`,
      !(measures.median < median),
    ],
    line('files with one importer', measures.onlyImporters.size, most.onlyImporters),
    line('exported names in more than one file', measures.sharedNames.size, most.sharedNames),
  ];
}

const detailsOf = ({ onlyImporters, sharedNames }: Measures): readonly string[] => [
  ...[...onlyImporters].map(([path, only]) => `  one importer: ${path} <- ${only}`),
  ...[...sharedNames].map(([name, paths]) => `  shared name: ${name} in ${paths.join(', ')}`),
];

/** What breaks a bound: a file in no room that has a budget, and each number that is over. */
export const overBudget = (sources: readonly Source[]): readonly string[] => [
  ...sources
    .map(({ path }) => path)
    .filter((path) => path.startsWith('src/'))
    .filter((path) => !Object.keys(rooms).some((room) => isIn(path, `src/${room}`)))
    .map((path) => `${path}: in no room with a budget`),
  ...Object.keys(bounds).flatMap((folder) =>
    linesOf(folder, measure(sources, folder)).flatMap(([line, isKept]) => (isKept ? [] : [line])),
  ),
];

/** Prints the measures; with `--check`, only what breaks a bound, and fails on it. */
function main(args: readonly string[]): number {
  const named = args.filter((arg) => !arg.startsWith('-')).map((arg) => arg.replace(/\/+$/, ''));
  const sources = readSources();
  const print = (line: string): unknown => process.stdout.write(`${line}\n`);
  if (args.includes('--check')) {
    const over = overBudget(sources);
    for (const line of over) print(`OVER ${line}`);
    return over.length === 0 ? 0 : 1;
  }
  for (const folder of named.length === 0 ? Object.keys(bounds) : named) {
    const measures = measure(sources, folder);
    for (const [line, isKept] of linesOf(folder, measures))
      print(`${isKept ? 'ok  ' : 'OVER'} ${line}`);
    if (named.length > 0) for (const line of detailsOf(measures)) print(line);
  }
  return 0;
}

if (import.meta.main) process.exitCode = main(process.argv.slice(2));
