// Lints the files whose verdict may have changed since they were last found clean; see docs/adr.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ESLint } from 'eslint';
import { recallKeys, rememberKeys } from '../memory.ts';
import { closureKeys, digest, type Keys, textKeys } from './keys.ts';
import { lintNatively, lintText, lintTypes } from './passes.ts';
import { configsOf, type RuleSplit, splitRules } from './rules.ts';
import { lintedPaths, readTree } from './tree.ts';

interface Pass {
  readonly memory: string;
  readonly keys: Keys;
  /** Says what is wrong with these files; resolves with those that are clean. */
  readonly lint: (paths: readonly string[], split: RuleSplit) => Promise<readonly string[]>;
}

async function main(): Promise<number> {
  const tree = readTree();
  const basis = digest([process.version, ...readBasis()]);
  const closures = closureKeys(tree, basis);
  const passes: readonly Pass[] = [
    { memory: 'lint-native.json', keys: closures, lint: lintNatively },
    { memory: 'lint-text.json', keys: textKeys(tree, basis), lint: lintText },
    { memory: 'lint-types.json', keys: closures, lint: lintTypes },
  ];
  const isKnown = ({ memory, keys }: Pass): boolean => {
    const known = recallKeys(memory);
    return [...keys.values()].every((key) => known.has(key));
  };
  // Even asking ESLint for its rules takes seconds.
  if (passes.every(isKnown)) return 0;
  const paths = await lintedPaths(tree);
  const split = splitRules(await configsOf(new ESLint(), paths));
  const verdicts = await Promise.all(passes.map((pass) => runPass(pass, { paths, split })));
  return verdicts.every((isClean) => isClean) ? 0 : 1;
}

/** What a verdict depends on beside the sources of the tree: options, versions, and who lints. */
const readBasis = (): readonly string[] =>
  [
    ...['eslint.config.js', 'tsconfig.json', 'package.json', 'package-lock.json'],
    ...readdirSync(import.meta.dirname)
      .filter((name) => !name.endsWith('.test.ts'))
      .map((name) => join(import.meta.dirname, name)),
  ].map((path) => readFileSync(path, 'utf8'));

/** Lints what is not known to be clean, and remembers what is clean now. */
async function runPass(
  { memory, keys, lint }: Pass,
  { paths, split }: { readonly paths: readonly string[]; readonly split: RuleSplit },
): Promise<boolean> {
  const known = recallKeys(memory);
  const keyOf = (path: string): string => keys.get(path) ?? '';
  const unknown = paths.filter((path) => !known.has(keyOf(path)));
  const clean = new Set(unknown.length === 0 ? [] : await lint(unknown, split));
  const dirty = new Set(unknown.filter((path) => !clean.has(path)));
  // Those that no linter looks at, such as data, are as clean as they can be.
  await rememberKeys(memory, [...keys.keys()].filter((path) => !dirty.has(path)).map(keyOf));
  return dirty.size === 0;
}

process.exitCode = await main();
