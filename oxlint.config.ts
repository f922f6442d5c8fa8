import { globSync, readdirSync } from 'node:fs';
import { defineConfig, type OxlintOverride } from 'oxlint';

/** Which folder of src may import which; everything that is not named is refused. */
const fences: Readonly<Record<string, readonly string[]>> = {
  model: [],
  lib: ['model'],
  settings: ['model', 'lib'],
  ignition: ['model', 'lib'],
  cluster: ['model', 'lib', 'ports', 'kube'],
  os: ['model', 'lib'],
  layering: [
    ...['model', 'lib', 'ignition', 'ports', 'cluster/release.ts'],
    ...['kinds', 'object', 'selector'].map((file) => `kube/${file}.ts`),
  ],
  ports: ['model'],
  engine: ['model', 'ports', 'lib'],
  kube: [
    ...['model', 'lib', 'ports'],
    ...['failures', 'limit', 'events'].map((file) => `engine/${file}.ts`),
  ],
  config: [
    'model',
    'lib',
    'settings',
    'engine/failures.ts',
    'adapters/file-access.ts',
    'adapters/host-root.ts',
  ],
  steps: [
    ...['engine', 'ports', 'model', 'lib', 'settings', 'ignition', 'kube', 'cluster', 'os'],
    'layering',
    ...['config/schema.ts', 'config/failures.ts'],
  ],
  // A node is changed by what changes it by hand.
  controllers: [
    ...['kube', 'layering', 'cluster', 'os', 'ignition', 'lib', 'model', 'ports'],
    ...['failures', 'limit', 'wait', 'events'].map((file) => `engine/${file}.ts`),
    ...['os', 'host-commands.ts', 'logs/collectors.ts'].map((room) => `steps/${room}`),
    ...['kube-watch', 'left-record', 'pool-pause', 'etcd-override', 'untaint'].map(
      (file) => `steps/cluster/${file}.ts`,
    ),
    'config/schema.ts',
  ],
  capi: [
    ...['kube', 'layering', 'cluster', 'ignition', 'lib', 'model', 'settings', 'ports', 'page'],
    ...['failures', 'limit', 'events'].map((file) => `engine/${file}.ts`),
    'config/schema.ts',
  ],
  roles: ['engine', 'steps', 'model', 'config/schema.ts', 'ports'],
  reporting: ['engine', 'ports', 'model', 'lib'],
  page: ['engine', 'ports', 'model', 'lib'],
  adapters: ['ports', 'model', 'lib', 'engine', 'page', 'config/schema.ts'],
};

/**
 * The rooms of a folder of src from the ground up: a room may import those before it and the files right in the
 * folder, which import no room. So no two rooms import each other.
 */
const rooms: Readonly<Record<string, readonly string[]>> = {
  steps: [
    ...['host', 'ignition', 'disk', 'image', 'registry', 'logs', 'bootstrap', 'cluster'],
    ...['layering', 'finish', 'os'],
  ],
  layering: [...['go-yaml', 'api', 'build', 'registry', 'manifests', 'hand-over'], 'roll-out'],
  adapters: ['http', 'host', 'kube', 'objects', 'image-relay', 'logging', 'metrics'],
  cluster: ['csr'],
  cli: ['doctor', 'layer', 'logs', 'capi', 'program'],
};

/** Each package is used in one place, where its subject is. */
const packageHomes: Readonly<Record<string, string>> = {
  execa: 'adapters/host',
  '@aws-sdk/client-s3': 'adapters/objects',
  commander: 'cli',
  bcryptjs: 'layering/registry',
  'tar-stream': 'lib',
  pino: 'adapters/logging',
  'prom-client': 'adapters/metrics',
  'p-retry': 'adapters/http',
  undici: 'adapters/http',
};

const effectModules = [
  ...['fs', 'fs/promises', 'child_process', 'net', 'http', 'https', 'timers', 'timers/promises'],
  'os',
];

/** Folders whose code reaches the world through ports alone. */
const pure = Object.keys(fences).filter((name) => !['config', 'adapters'].includes(name));

const isWithin = (path: string, folder: string): boolean =>
  path === folder || path.startsWith(`${folder}/`);

/** A pattern of import paths; the dots of names are literal. */
const matching = (before: string, names: readonly string[]): string =>
  `^${before}(${names.join('|').replaceAll('.', String.raw`\.`)})(/|$)`;

/** The parts of src that a folder of it may not import; file by file where only some are allowed. */
const refusedTo = (folder: string, allowed: readonly string[], within = ''): readonly string[] =>
  readdirSync(`src/${within}`).flatMap((name) => {
    const path = within === '' ? name : `${within}/${name}`;
    if (path === folder || allowed.includes(path)) return [];
    return allowed.some((file) => isWithin(file, path)) ? refusedTo(folder, allowed, path) : [path];
  });

/** Refuses the rooms above that of a folder; none where its top folder has no order. */
function roomFence(top: string, room: string | undefined) {
  const order = rooms[top] ?? [];
  const above = order.slice(room === undefined ? 0 : order.indexOf(room) + 1);
  const isFenced = room === undefined || order.includes(room);
  if (!isFenced || above.length === 0) return [];
  const toRooms = room === undefined ? String.raw`\./` : String.raw`\.\./`;
  const message = `rooms of ${top} import only those before them: ${order.join(', ')}`;
  return [{ regex: matching(toRooms, above), message }];
}

/** What the files right in a folder of src may not import; an import path says how deep it starts. */
function sourceFence(folder: string): OxlintOverride {
  const path = folder.split('/').slice(1).join('/');
  const [top = ''] = path.split('/');
  const depth = path === '' ? 0 : path.split('/').length;
  const toSource = depth === 0 ? String.raw`\./` : String.raw`(\.\./){${depth}}`;
  const allowed = fences[top];
  const packages = Object.entries(packageHomes).filter(([, home]) => !isWithin(path, home));
  const patterns = [
    { regex: String.raw`^(\.\./){${depth + 1}}`, message: 'the product imports only itself' },
    {
      regex: matching(
        '',
        packages.map(([name]) => name),
      ),
      message: 'a package is used in one folder; see oxlint.config.ts',
    },
    ...(pure.includes(top)
      ? [
          {
            regex: `^(node:)?(${effectModules.join('|')})$`,
            message: 'effects live in src/adapters; name a port in `uses`',
          },
        ]
      : []),
    ...(depth > 2 ? [] : roomFence(top, path.split('/')[1])),
    ...(allowed === undefined
      ? []
      : [
          {
            regex: matching(toSource, refusedTo(top, allowed)),
            message: `${top} may import only: ${allowed.join(', ')}`,
          },
        ]),
  ];
  return {
    files: [`${folder}/*.ts`],
    excludeFiles: ['**/*.test.ts'],
    rules: { 'no-restricted-imports': ['error', { patterns }] },
  };
}

const cliFile = (name: string): string => `src/cli/${name}.ts`;

/** Rules without options, beside those that oxlint itself calls correctness. */
const strict = [
  ...['no-case-declarations', 'no-console', 'no-empty', 'no-fallthrough', 'no-prototype-builtins'],
  ...['no-regex-spaces', 'no-unexpected-multiline', 'no-useless-assignment', 'no-var'],
  ...['prefer-const', 'prefer-rest-params', 'prefer-spread', 'preserve-caught-error'],
  ...['no-array-constructor', 'no-empty-function', 'no-useless-constructor'],
];
const strictTypes = [
  ...['adjacent-overload-signatures', 'array-type', 'ban-tslint-comment'],
  ...['class-literal-property-style', 'consistent-generic-constructors'],
  ...['consistent-indexed-object-style', 'consistent-type-assertions'],
  ...['consistent-type-definitions', 'dot-notation', 'no-confusing-non-null-assertion'],
  ...['no-deprecated', 'no-dynamic-delete', 'no-empty-object-type', 'no-explicit-any'],
  ...['no-extraneous-class', 'no-generated-empty-object-type', 'no-inferrable-types'],
  ...['no-misused-promises', 'no-mixed-enums', 'no-namespace'],
  ...['no-non-null-asserted-nullish-coalescing', 'no-non-null-assertion', 'no-require-imports'],
  ...['no-unnecessary-boolean-literal-compare', 'no-unnecessary-condition'],
  ...['no-unnecessary-template-expression', 'no-unnecessary-type-arguments'],
  ...['no-unnecessary-type-assertion', 'no-unnecessary-type-constraint'],
  ...['no-unnecessary-type-conversion', 'no-unsafe-argument', 'no-unsafe-assignment'],
  ...['no-unsafe-call', 'no-unsafe-enum-comparison', 'no-unsafe-function-type'],
  ...['no-unsafe-member-access', 'no-unsafe-return', 'non-nullable-type-assertion-style'],
  ...['prefer-find', 'prefer-for-of', 'prefer-function-type', 'prefer-includes'],
  ...['prefer-literal-enum-member', 'prefer-nullish-coalescing', 'prefer-optional-chain'],
  ...['prefer-reduce-type-parameter', 'prefer-regexp-exec', 'prefer-return-this-type'],
  ...['prefer-string-starts-ends-with', 'related-getter-setter-pairs', 'require-await'],
  ...['unified-signatures', 'use-unknown-in-catch-callback-variable'],
];

export default defineConfig({
  plugins: ['eslint', 'typescript', 'import'],
  categories: { correctness: 'error' },
  options: { typeAware: true, reportUnusedDisableDirectives: 'error' },
  ignorePatterns: ['dist', 'coverage'],
  rules: {
    ...Object.fromEntries(strict.map((name) => [name, 'error'])),
    ...Object.fromEntries(strictTypes.map((name) => [`typescript/${name}`, 'error'])),
    'import/no-cycle': ['error', { ignoreExternal: true, ignoreTypes: false }],
    // Asks for a comparison where a list of texts is sorted, too.
    'typescript/require-array-sort-compare': 'off',
    'typescript/ban-ts-comment': ['error', { minimumDescriptionLength: 10 }],
    'typescript/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
    'typescript/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
    'typescript/only-throw-error': ['error', { allowThrowingUnknown: true }],
    'typescript/prefer-promise-reject-errors': ['error', { allowThrowingUnknown: true }],
    'typescript/restrict-plus-operands': [
      'error',
      {
        allowAny: false,
        allowBoolean: false,
        allowNullish: false,
        allowNumberAndString: false,
        allowRegExp: false,
      },
    ],
    'typescript/restrict-template-expressions': ['error', { allowNumber: true }],
    'typescript/return-await': ['error', 'error-handling-correctness-only'],
    'typescript/switch-exhaustiveness-check': [
      'error',
      { considerDefaultExhaustiveForUnions: true },
    ],
    'max-params': ['error', 5],
    'unicorn/no-useless-spread': 'error',
    'max-depth': ['error', 3],
    complexity: ['error', 15],
  },
  overrides: [
    ...globSync('src/{,**/}').map((folder) => sourceFence(folder.replace(/\/$/, ''))),
    {
      files: ['src/**/*.ts'],
      excludeFiles: ['**/*.test.ts'],
      rules: {
        'max-lines-per-function': ['error', { max: 80, skipBlankLines: true, skipComments: true }],
      },
    },
    {
      files: pure.map((folder) => `src/${folder}/**/*.ts`),
      // What runs in a browser has the effects of that.
      excludeFiles: ['**/*.test.ts', 'src/page/browser.ts'],
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
      files: ['src/cli/**/*.ts'],
      excludeFiles: ['**/*.test.ts', ...['messages', 'install-world'].map(cliFile)],
      rules: {
        'no-restricted-properties': [
          'error',
          ...['stdout', 'stderr'].map((property) => ({
            object: 'process',
            property,
            message: 'print by src/cli/messages.ts, which takes out what steers a terminal',
          })),
        ],
      },
    },
    {
      files: ['mocks/**/*.ts'],
      excludeFiles: ['**/*.test.ts'],
      rules: {
        'no-restricted-imports': [
          'error',
          {
            patterns: [
              {
                regex: String.raw`^(\.\./)+(scripts|test)/`,
                message: 'a stand-in gets the paths of parts handed in',
              },
            ],
          },
        ],
      },
    },
    {
      files: ['**/*.test.ts', 'test/**/*.ts'],
      rules: {
        'typescript/no-non-null-assertion': 'off',
      },
    },
    { files: ['scripts/**/*.ts', 'mocks/lab/**/*.ts'], rules: { 'no-console': 'off' } },
  ],
});
