import fc from '../support/properties.ts';
import { machineOSConfigKind } from '../../src/layering/api/os-config.ts';
import type { Fields, Value } from '../../src/layering/api/schema.ts';

/** Names, right more often than not. */
export const resourceName = fc.oneof(
  { arbitrary: fc.constantFrom('worker', 'master', 'infra', 'a.b-c.d1'), weight: 6 },
  {
    arbitrary: fc.constantFrom(
      'Bad_Name',
      'a..b',
      '-a',
      'a-',
      '',
      'x'.repeat(254),
      'x'.repeat(253),
    ),
    weight: 1,
  },
  { arbitrary: fc.stringMatching(/^[a-z.-]{1,12}$/), weight: 1 },
);

const host = fc.constantFrom(
  'registry.example.com',
  '192.168.1.10:5000',
  'reg.example.com:22625',
  'localhost',
  'bootstrap:5000',
  '[fd00::1]:5000',
  'image-registry.openshift-image-registry.svc:5000',
  'a.b.svc:1',
  'reg.example.com:1',
  'reg.example.com:123456',
  'r-.e',
  'REG.Example.com',
);
const path = fc.oneof(
  fc.constantFrom('ocl/master', 'master', 'a/b/c/master', 'A_b/c.d', 'a.b/c', 'a//b', '/', ''),
  fc.stringMatching(/^[a-z0-9_./-]{0,20}$/),
  fc.constantFrom(`${'n'.repeat(61)}/x`, `${'n'.repeat(62)}/x`, 'x'.repeat(440)),
);
const tag = fc.constantFrom(':latest', ':latest', ':v1.2_x-Y', '', ':', ':a:b', ':\u00e4', ':a/b');
const digest = fc.constantFrom(
  `@sha256:${'a'.repeat(64)}`,
  `@sha256:${'a'.repeat(64)}`,
  `@sha256:${'A'.repeat(64)}`,
  `@sha256:${'a'.repeat(63)}`,
  `@@sha256:${'a'.repeat(64)}`,
  '',
);

/** Places to push to, good and bad. */
export const pushSpec = fc.oneof(
  { arbitrary: fc.constant('registry.example.com/ocl/master:latest'), weight: 2 },
  { arbitrary: fc.tuple(host, path, tag).map(([h, p, t]) => `${h}/${p}${t}`), weight: 4 },
  {
    arbitrary: fc.tuple(host, path, tag, digest).map(([h, ...r]) => `${h}/${r.join('')}`),
    weight: 1,
  },
  { arbitrary: fc.string(), weight: 1 },
);

/** Places to pull from, good and bad. */
export const pullSpec = fc.oneof(
  { arbitrary: fc.tuple(host, path, digest).map(([h, p, d]) => `${h}/${p}${d}`), weight: 4 },
  {
    arbitrary: fc.tuple(host, path, tag, digest).map(([h, ...r]) => `${h}/${r.join('')}`),
    weight: 1,
  },
  { arbitrary: fc.string(), weight: 1 },
);

/** Times, right more often than not. */
export const times = fc.constantFrom(
  '2026-01-01T00:00:00Z',
  '2026-01-01T00:00:01Z',
  '2026-01-01T00:00:02.5Z',
  '2026-01-01T02:00:02+01:00',
  '2026-02-29T00:00:00Z',
  '2024-02-29T23:59:59Z',
  '2026-01-01',
  'never',
);

const oddValues = fc.constantFrom<unknown>(5, 1.5, true, 'x', ['x'], {}, null);

/**
 * Objects of which, in one of three, a member anywhere below a path was taken away or has become something else.
 * An entry of a list is never taken away.
 */
export function brokenMembers(
  objects: fc.Arbitrary<object>,
  below: readonly string[],
): fc.Arbitrary<Fields> {
  const damage = fc.record({ at: fc.nat(), value: fc.option(oddValues, { nil: undefined }) });
  return fc.tuple(objects, fc.option(damage, { freq: 1, nil: undefined })).map(([object, harm]) => {
    const copy = JSON.parse(JSON.stringify(object)) as Fields;
    if (harm === undefined) return copy;
    const places = placesOf(copy).filter((path) =>
      below.every((segment, index) => path[index] === segment),
    );
    const place = places[harm.at % Math.max(places.length, 1)];
    if (place !== undefined) damageAt(copy, place, harm.value);
    return copy;
  });
}

type Path = readonly string[];

function placesOf(value: unknown, path: Path = []): readonly Path[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, member]) => [
    [...path, key],
    ...placesOf(member, [...path, key]),
  ]);
}

function damageAt(object: unknown, path: Path, value: unknown): void {
  const parent = path
    .slice(0, -1)
    .reduce<unknown>((at, key) => (at as Record<string, unknown>)[key], object) as Record<
    string,
    unknown
  >;
  const last = path.at(-1) ?? '';
  if (value === undefined && !Array.isArray(parent)) Reflect.deleteProperty(parent, last);
  else parent[last] = value ?? null;
}

/** An object as a cluster prints it, every member of it known. */
const whole = (): Fields => ({
  apiVersion: machineOSConfigKind.apiVersion,
  kind: machineOSConfigKind.kind,
  metadata: {
    name: 'unheard',
    annotations: { a: 'b' },
    labels: { a: 'b' },
    creationTimestamp: '2026-01-01T00:00:00Z',
    finalizers: ['a.example.com/b'],
    generation: 1,
    ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u', controller: true }],
    uid: 'f2a1a0c0-0000-4000-8000-000000000000',
  },
  spec: {
    machineConfigPool: { name: 'unheard' },
    imageBuilder: { imageBuilderType: 'Job' },
    baseImagePullSecret: { name: 'pull' },
    renderedImagePushSecret: { name: 'push' },
    renderedImagePushSpec: 'registry.example.com/ocl/worker:latest',
    containerFile: [{ containerfileArch: 'NoArch', content: 'FROM configs AS final' }],
  },
  status: {
    observedGeneration: 1,
    machineOSBuild: { group: 'g', resource: 'r', name: 'n' },
    conditions: [
      {
        type: 'Seeded',
        status: 'True',
        reason: 'R',
        message: 'm',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ],
  },
});

/** The places below which members can be added. */
function objectsOf(value: Value, path: readonly string[] = []): readonly (readonly string[])[] {
  if (typeof value !== 'object' || value === null) return [];
  const deeper = Object.entries(value).flatMap(([key, member]) =>
    objectsOf(member, [...path, key]),
  );
  return Array.isArray(value) ? deeper : [path, ...deeper];
}

const places = objectsOf(whole()).filter((path) => !/annotations|labels/.test(path.join('.')));
const additions = fc.uniqueArray(
  fc.record({
    at: fc.constantFrom(...places),
    name: fc.constantFrom('nope', 'Name', 'contents', 'a.b', 'spec', 'x y'),
    value: fc.constantFrom<Value>(1, 'x', true, {}, { deep: 1 }, [], [{ deep: 1 }], null),
  }),
  { maxLength: 4, selector: ({ at, name }) => [...at, name].join('.') },
);

/** The object of a cluster with a few members more, most of which no definition has. */
export const withMoreMembers: fc.Arbitrary<Fields> = additions.map((added) => {
  const object = whole();
  for (const { at, name, value } of added) {
    const target = at.reduce<Value>((from, key) => (from as Fields)[key] ?? null, object) as Fields;
    if (!Object.hasOwn(target, name)) Object.assign(target, { [name]: value });
  }
  return object;
});

const indent = ' '.repeat(6);
const chunk = fc.constantFrom(
  ...Array.from('ab \t:#"\'\\\u00a0\u00e4\u007f\u0007\u2028\ufeff\ufffe'),
  ...['\n', '\r\n', '\r', '\u0085', '\n\n'].map((lineBreak) => lineBreak + indent),
  ...['\u{1f600}', 'RUN x', '\\r', '\\x85', '\\u2028', '\\ud83d\\ude00', '\\ud800', '\\U0001f600'],
);
const text = fc.array(chunk, { maxLength: 10 }).map((chunks) => chunks.join(''));

/** The text of a Containerfile in the ways in which YAML can hold it, often in one that no parser takes. */
const content = fc.oneof(
  text.map((written) => `|\n${indent}a${written}\n`),
  text.map((written) => `|2+\n${indent}a${written}\n`),
  text.map((written) => `>-\n${indent}a${written}\n`),
  text.map((written) => `"a${written}"\n`),
  text.map((written) => `'a${written}'\n`),
);

/** The file of a MachineOSConfig with one such text. */
export const osConfigFile = (name: string): fc.Arbitrary<string> =>
  content.map(
    (written) => `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineOSConfig
metadata: {name: ${name}}
spec:
  machineConfigPool: {name: ${name}}
  imageBuilder: {imageBuilderType: Job}
  renderedImagePushSecret: {name: push}
  renderedImagePushSpec: registry.example.com/ocl/${name}:latest
  containerFile:
  - content: ${written}`,
  );

/** The text that an object has in its first file. */
export function contentOf(object: Fields): unknown {
  const { spec } = object as { readonly spec: { readonly containerFile: readonly Fields[] } };
  return spec.containerFile[0]?.['content'];
}
