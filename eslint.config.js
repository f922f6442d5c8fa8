import js from '@eslint/js';
import { importX } from 'eslint-plugin-import-x';
import tseslint from 'typescript-eslint';

/** Which folder of src may import which; everything that is not named is refused. */
const fences = {
  model: ['lib'],
  lib: ['model'],
  ignition: ['model', 'lib'],
  cluster: ['model', 'lib', 'ports'],
  os: ['model', 'lib'],
  layering: ['model', 'lib', 'ignition', 'ports', 'cluster/release-version.ts'],
  ports: ['model'],
  engine: ['model', 'ports', 'lib'],
  config: ['model', 'lib', 'engine/failures.ts'],
  steps: [
    'engine',
    'ports',
    'model',
    'lib',
    'ignition',
    'cluster',
    'os',
    'layering',
    'config/schema.ts',
  ],
  roles: ['engine', 'steps', 'model', 'config/schema.ts', 'ports'],
  reporting: ['engine', 'ports', 'model', 'lib'],
  adapters: ['ports', 'model', 'lib', 'engine', 'config/schema.ts'],
};
const folders = [...Object.keys(fences), 'cli', 'main.ts'];

const zones = [
  ...Object.entries(fences).map(([folder, allowed]) => ({
    target: `./src/${folder}`,
    from: './src',
    except: [folder, ...allowed].map((name) => `./${name}`),
    message: `${folder} may import only: ${allowed.join(', ')}`,
  })),
  { target: './src', from: './mocks', message: 'the product never imports a stand-in' },
  { target: './src', from: './test', message: 'the product never imports a test' },
];

/** Each package is used in one place, where its subject is. */
const packageHomes = {
  execa: 'adapters/host',
  undici: 'adapters/http',
  '@aws-sdk/client-s3': 'adapters/objects',
  commander: 'cli',
  '@kubernetes/client-node': 'adapters/kube',
  '@peculiar/x509': 'cluster/csr',
  bcryptjs: 'layering/registry',
  'dockerfile-ast': 'layering/containerfile',
  'tar-stream': 'steps/cluster',
  'reflect-metadata': 'cluster/csr',
  pino: 'adapters/logging',
  'p-retry': 'adapters/http',
};

const packagesNotFor = (folder) =>
  Object.entries(packageHomes)
    .filter(([, home]) => !folder.startsWith(home) && !home.startsWith(folder))
    .map(([name, home]) => ({ name, message: `${name} is used in src/${home} alone` }));

const effects = [
  'fs',
  'fs/promises',
  'child_process',
  'net',
  'http',
  'https',
  'timers',
  'timers/promises',
  'os',
]
  .flatMap((name) => [name, `node:${name}`])
  .map((name) => ({ name, message: 'effects live in src/adapters; name a port in `uses`' }));

const pure = [
  'model',
  'lib',
  'ignition',
  'cluster',
  'os',
  'layering',
  'ports',
  'engine',
  'steps',
  'roles',
  'reporting',
];

export default tseslint.config(
  { ignores: ['dist', 'node_modules', 'coverage'] },
  js.configs.recommended,
  ...tseslint.configs.strictTypeChecked,
  ...tseslint.configs.stylisticTypeChecked,
  {
    languageOptions: {
      parserOptions: { project: 'tsconfig.json', tsconfigRootDir: import.meta.dirname },
    },
    linterOptions: { reportUnusedDisableDirectives: 'error' },
    plugins: { 'import-x': importX },
    // Without these, no-cycle reads no file of ours.
    settings: {
      'import-x/extensions': ['.ts'],
      'import-x/parsers': { '@typescript-eslint/parser': ['.ts'] },
    },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/no-invalid-void-type': 'off',
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      '@typescript-eslint/only-throw-error': ['error', { allowThrowingUnknown: true }],
      '@typescript-eslint/prefer-promise-reject-errors': ['error', { allowThrowingUnknown: true }],
      'import-x/no-restricted-paths': ['error', { zones }],
      'import-x/no-cycle': ['error', { ignoreExternal: true }],
      'no-console': 'error',
      'no-restricted-syntax': [
        'error',
        { selector: 'Identifier[name=/^(is)?dryRun$/i]', message: 'another adapter, never an if' },
        { selector: 'Property[key.name="shell"]', message: 'argv arrays, never a shell' },
      ],
      'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
      'max-params': ['error', 3],
      'max-depth': ['error', 3],
      complexity: ['error', 12],
    },
  },
  {
    files: ['src/**/*.ts'],
    ignores: ['src/**/*.test.ts'],
    rules: {
      'max-lines-per-function': ['error', { max: 60, skipBlankLines: true, skipComments: true }],
    },
  },
  ...folders.map((folder) => ({
    files: [folder.endsWith('.ts') ? `src/${folder}` : `src/${folder}/**/*.ts`],
    ignores: ['src/**/*.test.ts', ...Object.values(packageHomes).map((home) => `src/${home}/**`)],
    rules: {
      'no-restricted-imports': [
        'error',
        { paths: [...packagesNotFor(folder), ...(pure.includes(folder) ? effects : [])] },
      ],
    },
  })),
  {
    files: pure.map((folder) => `src/${folder}/**/*.ts`),
    ignores: ['src/**/*.test.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['fetch', 'setTimeout', 'setInterval', 'setImmediate', 'process'].map((name) => ({
          name,
          message: 'effects live in src/adapters; use a port',
        })),
      ],
      'no-restricted-properties': [
        'error',
        { object: 'Date', property: 'now', message: 'use the clock port' },
        { object: 'Math', property: 'random', message: 'use the random port' },
      ],
    },
  },
  {
    files: ['src/**/*.test.ts', 'test/**/*.ts', 'mocks/**/*.test.ts', 'scripts/**/*.test.ts'],
    rules: {
      'max-lines': ['error', { max: 400, skipBlankLines: true, skipComments: true }],
      '@typescript-eslint/no-non-null-assertion': 'off',
      'import-x/no-restricted-paths': 'off',
    },
  },
  {
    files: ['scripts/**/*.ts', 'mocks/lab/**/*.ts'],
    rules: { 'no-console': 'off' },
  },
  { files: ['**/*.js', '**/*.mjs'], ...tseslint.configs.disableTypeChecked },
);
