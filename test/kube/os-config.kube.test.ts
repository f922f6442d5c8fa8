import fc from '../support/properties.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kube } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/api-server.ts';
import { machineOSConfigs } from '../../src/kube/kinds.ts';
import { KubeRefusal } from '../../mocks/kube/transport.ts';
import { checkedOSConfig, machineOSConfigKind } from '../../src/layering/api/os-config.ts';
import type { Fields } from '../../src/lib/fields.ts';
import { lineless } from '../../src/layering/api/source-object.ts';

let rig: Kube;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.close());

/** Names, mostly valid. */
const resourceName = fc.oneof(
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

/** Push specs, valid and invalid. */
const pushSpec = fc.oneof(
  { arbitrary: fc.constant('registry.example.com/ocl/master:latest'), weight: 2 },
  { arbitrary: fc.tuple(host, path, tag).map(([h, p, t]) => `${h}/${p}${t}`), weight: 4 },
  {
    arbitrary: fc.tuple(host, path, tag, digest).map(([h, ...r]) => `${h}/${r.join('')}`),
    weight: 1,
  },
  { arbitrary: fc.string(), weight: 1 },
);

const arch = fc.constantFrom('ARM64', 'AMD64', 'PPC64LE', 'S390X', 'NoArch', 'noarch', undefined);
const content = fc.oneof(
  fc.string(),
  fc.constantFrom('x'.repeat(4096), 'x'.repeat(4097), '\u{1f600}'.repeat(4096)),
);

/** Objects that are nearly valid: each member is mostly valid. */
const configs = fc
  .record({
    name: resourceName,
    pool: resourceName,
    isSame: fc.boolean(),
    secret: resourceName,
    pull: fc.option(resourceName),
    push: pushSpec,
    builder: fc.constantFrom('Job', 'Job', 'Job', 'PodImageBuilder'),
    files: fc.array(fc.record({ containerfileArch: arch, content }), { maxLength: 5 }),
    hasFiles: fc.boolean(),
  })
  .map(({ name, pool, isSame, secret, pull, push, builder, files, hasFiles }) => ({
    apiVersion: machineOSConfigKind.apiVersion,
    kind: machineOSConfigKind.kind,
    metadata: { name },
    spec: {
      machineConfigPool: { name: isSame ? name : pool },
      imageBuilder: { imageBuilderType: builder },
      ...(pull === null ? {} : { baseImagePullSecret: { name: pull } }),
      renderedImagePushSecret: { name: secret },
      renderedImagePushSpec: push,
      ...(hasFiles ? { containerFile: files } : {}),
    },
  }));

const oddValues = fc.constantFrom<unknown>(5, 1.5, true, 'x', ['x'], {}, null);

/**
 * Objects, a third of them with a member below a path that is missing or replaced. Entries of lists
 * are never removed.
 */
function brokenMembers(
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

describe('a MachineOSConfig', () => {
  it('is refused if the API server refuses it, and otherwise read as stored', async () => {
    const property = fc.asyncProperty(brokenMembers(configs, ['spec']), async (object) => {
      const ref = { kind: machineOSConfigs, name: String(nameOf(object)) };
      const ours = checkedOSConfig(lineless(object, 'f'));
      const isTaken = await rig.client
        .create(machineOSConfigs, object as never)
        .then(() => true, refused);
      // The server drops unknown fields; we refuse them.
      if (isTaken !== true) expect(Array.isArray(ours), JSON.stringify(ours)).toBe(true);
      else if (!Array.isArray(ours)) {
        expect((await rig.client.get(ref))?.['spec']).toEqual(ours.spec);
      } else expect(ours.map(({ message }) => message).join()).toContain('unknown field');
      if (isTaken === true) await rig.client.remove(ref);
    });
    await fc.assert(property, { numRuns: 300 });
  });
});

const refused = (error: unknown): undefined => {
  if (!(error instanceof KubeRefusal)) throw error;
};

const nameOf = (object: Fields): unknown => (object['metadata'] as Fields)['name'];
