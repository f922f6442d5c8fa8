import type { ESLint } from 'eslint';

/** Rules that look at types and that the native linter does not have; take one out when it has it. */
const notNative: readonly string[] = [
  '@typescript-eslint/no-unsafe-class-instance-assignment',
  '@typescript-eslint/no-unsafe-enum-assignment',
];

/** Rules of ESLint that the native linter calls by another name. */
const nativeNames: Readonly<Record<string, string>> = { 'import-x/no-cycle': 'import/no-cycle' };

/** Rules of plugins that need no more than one file and the names of the others. */
const textRules: readonly string[] = ['import-x/no-restricted-paths'];

/** Which linter has which of the rules that are on. */
export interface RuleSplit {
  /** What the native linter takes over, by ESLint's names, with options. */
  readonly native: Readonly<Record<string, unknown>>;
  /** What ESLint does with types. */
  readonly types: readonly string[];
}

/** Thrown where the rules cannot be split as they are; the message says what to change. */
export class RuleSplitError extends Error {}

/** Configuration of a file as ESLint computes it, as far as it matters here. */
export interface FileConfig {
  readonly rules?: Readonly<Record<string, unknown>>;
  readonly plugins?: Readonly<Record<string, Plugin | undefined>>;
}

interface Plugin {
  readonly rules?: Readonly<Record<string, { readonly meta?: { readonly docs?: object } }>>;
}

/**
 * Splits the rules that are on by what they look at: those that see other files go to the native
 * linter if it has them. Whatever is in neither list needs one file alone.
 * @param configs Those of all TypeScript files.
 * @throws {RuleSplitError} Where such a rule is not the same in all files, or a rule is of no known kind.
 */
export function splitRules(configs: readonly FileConfig[]): RuleSplit {
  const wide: Record<string, unknown> = {};
  for (const { rules = {}, plugins = {} } of configs)
    for (const [name, entry] of Object.entries(rules)) {
      if (!seesOtherFiles(name, plugins)) continue;
      wide[name] ??= entry;
      if (JSON.stringify(wide[name]) !== JSON.stringify(entry))
        throw new RuleSplitError(`${name} must be the same in all TypeScript files`);
    }
  const on = Object.entries(wide).filter(([, entry]) => isOn(entry));
  return {
    native: Object.fromEntries(on.filter(([name]) => !notNative.includes(name))),
    types: on.map(([name]) => name).filter((name) => notNative.includes(name)),
  };
}

/** The native linter's configuration; its rule names carry no sign but that of their plugin. */
export function nativeConfig({ native }: RuleSplit): string {
  const rules = Object.entries(native).map(([name, entry]) => [
    nativeNames[name] ?? name.replace('@typescript-eslint/', 'typescript/'),
    entry,
  ]);
  return JSON.stringify({
    plugins: ['typescript', 'import'],
    // What is on by default there is not what is on here.
    categories: { correctness: 'off' },
    rules: Object.fromEntries(rules) as unknown,
  });
}

/** The configuration of each TypeScript file, as ESLint computes it. */
export function configsOf(
  eslint: ESLint,
  paths: readonly string[],
): Promise<readonly FileConfig[]> {
  const typed = paths.filter((path) => path.endsWith('.ts'));
  return Promise.all(
    typed.map(async (path) => (await eslint.calculateConfigForFile(path)) as FileConfig),
  );
}

function seesOtherFiles(name: string, plugins: FileConfig['plugins'] & {}): boolean {
  if (name in nativeNames) return true;
  const [plugin, rule] = name.split('/');
  if (rule === undefined || textRules.includes(name)) return false;
  if (plugin !== '@typescript-eslint')
    throw new RuleSplitError(`${name}: say in scripts/suites/lint/rules.ts what it looks at`);
  const docs = plugins[plugin]?.rules?.[rule]?.meta?.docs;
  return docs !== undefined && 'requiresTypeChecking' in docs && docs.requiresTypeChecking === true;
}

const isOn = (entry: unknown): boolean => {
  const severity: unknown = Array.isArray(entry) ? entry[0] : entry;
  return severity !== 0 && severity !== 'off';
};
