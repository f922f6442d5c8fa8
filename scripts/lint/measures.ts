// Counts the sources without their tests: node scripts/lint/measures.ts [--check]
import { globSync, readFileSync } from 'node:fs';
import { posix, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

/** A source file as the measures see it; paths go from the top of the tree. */
export interface Source {
  readonly path: string;
  readonly lines: number;
  /** Files that it imports, and names that it exports, each once. */
  readonly imports: readonly string[];
  readonly exports: readonly string[];
}

/** Files and lines of TypeScript in a folder, tests apart. */
export interface RoomSize {
  readonly files: number;
  readonly lines: number;
}

/** What is counted of a folder. */
interface Measures extends RoomSize {
  /** Files that exactly one file imports. */
  readonly importedOnce: number;
  /** Names that more than one file declares and exports. */
  readonly sharedNames: number;
}

/** Files and lines of each room of `src`. A change that needs more takes it from another room; see docs/adr/0031. */
const rooms: Readonly<Record<string, readonly [files: number, lines: number]>> = {
  adapters: [58, 9_296],
  capi: [33, 8_341],
  cli: [59, 9_901],
  cluster: [18, 2_362],
  config: [19, 2_821],
  controllers: [48, 8_636],
  engine: [15, 2_107],
  ignition: [18, 2_960],
  layering: [46, 8_398],
  lib: [23, 1_808],
  'main.ts': [1, 36],
  model: [6, 277],
  os: [9, 1_124],
  page: [15, 2_346],
  ports: [14, 1_041],
  reconcile: [7, 1_061],
  reporting: [7, 1_100],
  roles: [9, 433],
  steps: [105, 18_255],
};

const sum = (at: 0 | 1): number => Object.values(rooms).reduce((all, room) => all + room[at], 0);

/** The most that each folder may have; a missing number is not bounded. */
const bounds: Readonly<Record<string, Partial<Measures>>> = {
  src: { files: sum(0), lines: sum(1), importedOnce: 127, sharedNames: 7 },
  mocks: { lines: 17_000 },
  scripts: { lines: 6_971 },
  ...Object.fromEntries(
    Object.entries(rooms).map(([room, [files, lines]]) => [`src/${room}`, { files, lines }]),
  ),
};

const importPattern = /(?:from|import)\s*\(?\s*'(\.[^']+)'/g;
const exportPattern =
  /^export (?:abstract )?(?:async )?(?:function\*?|class|const|let|interface|type) ([A-Za-z_$][\w$]*)/gm;

/** Reads all sources of the tree that are not tests. */
export const readSources = (): readonly Source[] =>
  globSync('{src,mocks,scripts}/**/*.ts', { cwd: root, exclude: ['**/*.test.ts'] }).map((path) => {
    const text = readFileSync(resolve(root, path), 'utf8');
    const found = (pattern: RegExp): readonly string[] => [
      ...new Set([...text.matchAll(pattern)].map(([, name = '']) => name)),
    ];
    return {
      path,
      lines: text.split('\n').length - 1,
      imports: found(importPattern).map((name) => posix.join(posix.dirname(path), name)),
      exports: found(exportPattern),
    };
  });

const isIn = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(`${folder}/`);

/** How large a folder is. */
export function sizeOf(sources: readonly Source[], folder: string): RoomSize {
  const inside = sources.filter(({ path }) => isIn(path, folder));
  return { files: inside.length, lines: inside.reduce((sum, { lines }) => sum + lines, 0) };
}

const titles: Readonly<Record<keyof Measures, string>> = {
  files: 'files',
  lines: 'lines',
  importedOnce: 'files with one importer',
  sharedNames: 'exported names in more than one file',
};

/** One line for each number of a folder that has a bound, and whether that is kept. */
function measure(sources: readonly Source[], folder: string) {
  const inside = sources.filter(({ path }) => isIn(path, folder));
  const importers = Map.groupBy(
    sources.flatMap(({ imports }) => imports),
    String,
  );
  const declared = Map.groupBy(
    inside.flatMap(({ exports }) => exports),
    String,
  );
  const measures: Measures = {
    ...sizeOf(sources, folder),
    importedOnce: inside.filter(({ path }) => importers.get(path)?.length === 1).length,
    sharedNames: [...declared.values()].filter(({ length }) => length > 1).length,
  };
  return (Object.entries(bounds[folder] ?? {}) as [keyof Measures, number][]).map(
    ([what, limit]) => ({
      line: `${folder}: ${measures[what]} ${titles[what]} (at most ${limit})`,
      isKept: measures[what] <= limit,
    }),
  );
}

/** What breaks a bound: a file in no room that has a budget, and each number that is over. */
export const overBudget = (sources: readonly Source[]): readonly string[] => [
  ...sources
    .map(({ path }) => path)
    .filter((path) => path.startsWith('src/'))
    .filter((path) => !Object.keys(rooms).some((room) => isIn(path, `src/${room}`)))
    .map((path) => `${path}: in no room with a budget`),
  ...Object.keys(bounds)
    .flatMap((folder) => measure(sources, folder))
    .filter(({ isKept }) => !isKept)
    .map(({ line }) => line),
];

/** Prints the measures; with `--check`, only what breaks a bound, and fails on it. */
function main(args: readonly string[]): number {
  const sources = readSources();
  const print = (line: string): unknown => process.stdout.write(`${line}\n`);
  if (args.includes('--check')) {
    const over = overBudget(sources);
    for (const line of over) print(`OVER ${line}`);
    return over.length === 0 ? 0 : 1;
  }
  for (const folder of Object.keys(bounds))
    for (const { line, isKept } of measure(sources, folder))
      print(`${isKept ? 'ok  ' : 'OVER'} ${line}`);
  return 0;
}

if (import.meta.main) process.exitCode = main(process.argv.slice(2));
