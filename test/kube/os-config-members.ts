import fc from 'fast-check';
import { machineOSConfigKind } from '../../src/layering/api/os-config.ts';
import type { Fields, Value } from '../../src/layering/api/schema.ts';

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
