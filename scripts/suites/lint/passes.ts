import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { ESLint } from 'eslint';
import { runCommand, spaciously } from '../command.ts';
import { nativeConfig, type RuleSplit } from './rules.ts';

/** Runs the rules that the native linter has; resolves with all files when all are clean, else with none. */
export async function lintNatively(
  paths: readonly string[],
  split: RuleSplit,
): Promise<readonly string[]> {
  // In JavaScript, rules of this kind are off.
  const typed = paths.filter((path) => path.endsWith('.ts'));
  if (typed.length === 0) return paths;
  const folder = mkdtempSync(join(tmpdir(), 'bootwright-lint-'));
  try {
    const config = join(folder, 'oxlint.json');
    writeFileSync(config, nativeConfig(split));
    const options = ['--disable-nested-config', '--type-aware', '--threads=1'];
    const code = await runCommand([...spaciously, 'oxlint', '-c', config, ...options, ...typed]);
    return code === 0 ? paths : [];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Runs the rules that need one file alone; resolves with the files that are clean. */
export function lintText(
  paths: readonly string[],
  { native, types }: RuleSplit,
): Promise<readonly string[]> {
  const eslint = new ESLint({
    ruleFilter: ({ ruleId }) => !(ruleId in native) && !types.includes(ruleId),
    overrideConfig: { languageOptions: { parserOptions: { project: null } } },
  });
  return lintWith(eslint, paths);
}

/** Runs the rules that look at types and that the native linter has not; resolves with the files that are clean. */
export async function lintTypes(
  paths: readonly string[],
  { native, types }: RuleSplit,
): Promise<readonly string[]> {
  const { exempting = [], others = [] } = Object.groupBy(paths, (path) =>
    exempts(readFileSync(path, 'utf8'), Object.keys(native)) ? 'exempting' : 'others',
  );
  const eslint = new ESLint({ ruleFilter: ({ ruleId }) => types.includes(ruleId) });
  // Whether an exemption is still needed, only ESLint with all its rules can tell.
  return [
    ...(await lintWith(new ESLint(), exempting)),
    ...(types.length === 0 ? others : await lintWith(eslint, others)),
  ];
}

const exempts = (text: string, rules: readonly string[]): boolean =>
  [...text.matchAll(/eslint-disable[^]*?(?=\*\/|\n)/g)].some(([comment]) =>
    rules.some((rule) => comment.includes(rule)),
  );

async function lintWith(eslint: ESLint, paths: readonly string[]): Promise<readonly string[]> {
  if (paths.length === 0) return [];
  const results = await eslint.lintFiles([...paths]);
  const formatter = await eslint.loadFormatter('stylish');
  process.stdout.write(await formatter.format(results));
  const clean = new Set(
    results.filter(({ messages }) => messages.length === 0).map(({ filePath }) => filePath),
  );
  return paths.filter((path) => clean.has(resolve(path)));
}
