import fc from '../support/properties.ts';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kube } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/rig.ts';
import { KubeRefusal } from '../../mocks/kube/transport.ts';
import { machineOSConfigKind } from '../../src/layering/api/os-config.ts';
import { fieldErrors, preparedObject, unknownFields } from '../../src/layering/api/check-object.ts';
import schema from '../../src/layering/api/machine-os-config.json' with { type: 'json' };
import type { Fields } from '../../src/layering/api/schema.ts';
import { isSourceFinding } from '../../src/layering/api/source-text.ts';
import { readDocuments } from '../../src/layering/api/source-object.ts';
import {
  machineOSConfigs,
  refusalOf,
  strictMachineOSConfigs,
  unknownTo,
  verdictOf,
} from './os-config-verdict.ts';
import {
  brokenMembers,
  contentOf,
  osConfigFile,
  pullSpec,
  pushSpec,
  resourceName,
  times,
  withMoreMembers,
} from './os-config-arbitrary.ts';

let rig: Kube;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.close());

const arch = fc.constantFrom('ARM64', 'AMD64', 'PPC64LE', 'S390X', 'NoArch', 'noarch', undefined);
const content = fc.oneof(
  fc.string(),
  fc.constantFrom('x'.repeat(4096), 'x'.repeat(4097), '\u{1f600}'.repeat(4096)),
);

/** Objects that are nearly right: each member right more often than not. */
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

const statuses = fc.record(
  {
    observedGeneration: fc.constantFrom<unknown>(0, 1, 2, -1, 1.5, '1'),
    currentImagePullSpec: pullSpec,
    machineOSBuild: fc.record(
      {
        group: resourceName,
        resource: fc.constantFrom('machineosbuilds', '1x', '', 'a.b'),
        namespace: fc.constantFrom('ns', '', 'a.b'),
        name: resourceName,
      },
      { requiredKeys: ['resource', 'name'] },
    ),
    conditions: fc.array(
      fc.record({
        type: fc.constantFrom('Seeded', 'Other', 'a b', 'x.y/Z', ''),
        status: fc.constantFrom('True', 'False', 'maybe'),
        reason: fc.constantFrom('Because', 'A,b:c', '1', ''),
        message: fc.string(),
        lastTransitionTime: times,
      }),
      { maxLength: 3 },
    ),
  },
  { requiredKeys: [] },
);

/** The schema of a definition without what only people read. */
const withoutDescriptions = (part: unknown): unknown => {
  if (Array.isArray(part)) return part.map(withoutDescriptions);
  if (typeof part !== 'object' || part === null) return part;
  return Object.fromEntries(
    Object.entries(part)
      .filter(([name, value]) => name !== 'description' || typeof value !== 'string')
      .map(([name, value]) => [name, withoutDescriptions(value)]),
  );
};

describe('a MachineOSConfig', () => {
  it('is checked by the schema of its definition', async () => {
    const kind = {
      group: 'apiextensions.k8s.io',
      version: 'v1',
      plural: 'customresourcedefinitions',
    };
    const name = `${machineOSConfigs.plural}.${machineOSConfigs.group}`;
    const crd = await rig.client.get({ kind, name });
    const { versions } = crd!['spec'] as { readonly versions: readonly Fields[] };
    const { openAPIV3Schema } = versions[0]!['schema'] as Fields;
    expect(withoutDescriptions(openAPIV3Schema)).toEqual(schema);
  });

  it('is refused by us when and why the API server refuses it', async () => {
    const property = fc.asyncProperty(brokenMembers(configs, ['spec']), async (object) => {
      const ref = { kind: machineOSConfigs, name: String(nameOf(object)) };
      const ours = fieldErrors(object);
      const theirs = await refusalOf(rig.client.create(machineOSConfigs, object as never));
      expect(verdictOf(ours, theirs)).toEqual(theirs);
      if (theirs === undefined) {
        const stored = await rig.client.get(ref);
        const { spec } = preparedObject(object);
        expect(stored?.['spec']).toEqual(spec);
        await rig.client.remove(ref);
      }
    });
    await fc.assert(property, { numRuns: 300 });
  });

  it('has a status that is refused by us when and why the API server refuses it', async () => {
    const ref = { kind: machineOSConfigs, name: 'worker' };
    const object = {
      apiVersion: machineOSConfigKind.apiVersion,
      kind: machineOSConfigKind.kind,
      metadata: { name: 'worker' },
      spec: {
        machineConfigPool: { name: 'worker' },
        imageBuilder: { imageBuilderType: 'Job' },
        renderedImagePushSecret: { name: 'push' },
        renderedImagePushSpec: 'registry.example.com/ocl/worker:latest',
      },
    };
    const property = fc.asyncProperty(brokenMembers(statuses, []), async (status) => {
      // What an update does not change is not checked again, so each status is the first of its object.
      await rig.client.create(machineOSConfigs, object);
      const ours = fieldErrors({ ...object, status });
      const theirs = await refusalOf(rig.client.replaceStatus(ref, status));
      await rig.client.remove(ref);
      expect(verdictOf(ours, theirs)).toEqual(theirs);
    });
    await fc.assert(property, { numRuns: 300 });
  });

  it('has members that are unknown to us when they are unknown to the API server', async () => {
    const property = fc.asyncProperty(withMoreMembers, async (object) => {
      const ours = unknownFields(object).map(({ message }) => message);
      const theirs = await unknownTo(rig.client.create(strictMachineOSConfigs, object as never));
      expect([...ours].sort()).toEqual([...theirs].sort());
    });
    await fc.assert(property, { numRuns: 200 });
  });

  it('is read from a file as the API server reads it', async () => {
    const ref = { kind: machineOSConfigs, name: 'texts' };
    let alike = 0;
    const property = fc.asyncProperty(osConfigFile(ref.name), async (text) => {
      const stored = await rig.client.applyManifest(ref, text).catch(refused);
      const [read] = readDocuments({ path: 'f', text });
      const ours = read === undefined || isSourceFinding(read) ? undefined : contentOf(read.value);
      if (stored === undefined) expect(ours).toBeUndefined();
      if (stored === undefined || ours === undefined) return;
      expect(ours).toBe(contentOf(stored as never));
      alike += 1;
    });
    await fc.assert(property, { numRuns: 400 });
    expect(alike).toBeGreaterThan(80);
  });
});

const refused = (error: unknown): undefined => {
  if (!(error instanceof KubeRefusal)) throw error;
};

const nameOf = (object: Fields): unknown => (object['metadata'] as Fields)['name'];
