import { describe, expect, it } from 'vitest';
import { type FileConfig, nativeConfig, RuleSplitError, splitRules } from './rules.ts';

const withTypes = { meta: { docs: { requiresTypeChecking: true } }, create: () => ({}) };
const plugins = {
  '@typescript-eslint': {
    rules: {
      'no-floating-promises': withTypes,
      'only-throw-error': withTypes,
      'no-unsafe-class-instance-assignment': withTypes,
      'no-unnecessary-qualifier': withTypes,
      'no-explicit-any': { meta: {} },
    },
  },
};

const rules = {
  '@typescript-eslint/no-floating-promises': [2],
  '@typescript-eslint/only-throw-error': [2, { allowThrowingUnknown: true }],
  '@typescript-eslint/no-unsafe-class-instance-assignment': [2],
  '@typescript-eslint/no-unnecessary-qualifier': [0],
  '@typescript-eslint/no-explicit-any': [2],
  'import-x/no-cycle': [2, { ignoreExternal: true }],
  'import-x/no-restricted-paths': [2],
  complexity: [2, 12],
} as const;
const fileOf = (some: FileConfig['rules'] & {}): FileConfig => ({ rules: some, plugins });
const file = fileOf(rules);

describe('splitRules', () => {
  it('gives the native linter what sees other files, with its options', () => {
    expect(splitRules([file, file]).native).toEqual({
      '@typescript-eslint/no-floating-promises': [2],
      '@typescript-eslint/only-throw-error': [2, { allowThrowingUnknown: true }],
      'import-x/no-cycle': [2, { ignoreExternal: true }],
    });
  });

  it('leaves ESLint what the native linter has not', () => {
    expect(splitRules([file]).types).toEqual([
      '@typescript-eslint/no-unsafe-class-instance-assignment',
    ]);
  });

  it('refuses such a rule that is not the same in all files', () => {
    const other = fileOf({ ...rules, '@typescript-eslint/no-floating-promises': [0] });
    expect(() => splitRules([file, other])).toThrow(RuleSplitError);
  });

  it('refuses a rule of which it is not said what it looks at', () => {
    expect(() => splitRules([{ rules: { 'import-x/namespace': [2] } }])).toThrow(RuleSplitError);
  });
});

describe('nativeConfig', () => {
  it('calls rules as the native linter does', () => {
    expect(JSON.parse(nativeConfig(splitRules([file])))).toMatchObject({
      rules: {
        'typescript/no-floating-promises': [2],
        'import/no-cycle': [2, { ignoreExternal: true }],
      },
    });
  });
});
