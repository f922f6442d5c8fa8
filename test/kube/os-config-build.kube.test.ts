import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Kube } from '../../mocks/kube/start.ts';
import { startRig } from '../../scripts/rig.ts';
import { buildName } from '../../src/layering/api/build-name.ts';
import {
  buildOwnership,
  handedOverStatus,
  machineOSBuildObject,
  seededBuildStatus,
} from '../../src/layering/api/os-build.ts';
import { machineOSBuildKind } from '../../src/layering/api/os-build-schema.ts';
import { defaultMachineOSConfig, readMachineOSConfig } from '../../src/layering/api/os-config.ts';
import { withDigest } from '../../src/lib/image-name.ts';
import { checkObject, preparedObject } from '../../src/layering/api/check-object.ts';
import { lineless } from '../../src/layering/source-object.ts';
import type { Fields } from '../../src/layering/api/schema.ts';
import type { KubeObject } from '../../src/ports/kube.ts';
import { brokenMembers, pullSpec, pushSpec, resourceName, times } from './os-config-arbitrary.ts';
import {
  machineOSBuilds,
  machineOSConfigs,
  refusalOf,
  statusErrors,
  verdictOf,
} from './os-config-verdict.ts';

let rig: Kube;
beforeAll(async () => {
  rig = await startRig();
});
afterAll(() => rig.close());

const configName = fc.oneof(
  resourceName,
  fc.constantFrom('rendered-worker-0', 'rendered-', 'short'),
);

const builds = fc
  .record({ name: resourceName, machineConfig: configName, osConfig: resourceName, push: pushSpec })
  .map(({ name, machineConfig, osConfig, push }) => ({
    apiVersion: machineOSBuildKind.apiVersion,
    kind: machineOSBuildKind.kind,
    metadata: { name },
    spec: {
      machineConfig: { name: machineConfig },
      machineOSConfig: { name: osConfig },
      renderedImagePushSpec: push,
    },
  }));

const reference = fc.record({
  group: fc.constantFrom('batch', 'Bad_Group', ''),
  resource: fc.constantFrom('jobs', 'pods', '1x'),
  name: resourceName,
});

const condition = fc.record({
  type: fc.constantFrom('Prepared', 'Building', 'Failed', 'Interrupted', 'Succeeded'),
  status: fc.constantFrom('True', 'False'),
  reason: fc.constant('Ready'),
  message: fc.constant('m'),
  lastTransitionTime: fc.constant('2026-01-01T00:00:00Z'),
});

const statuses = fc.record(
  {
    buildStart: times,
    buildEnd: times,
    builder: fc.record(
      { imageBuilderType: fc.constantFrom('Job', 'Job', 'Other'), job: reference },
      { requiredKeys: ['imageBuilderType'] },
    ),
    conditions: fc.array(condition, { maxLength: 3 }),
    digestedImagePushSpec: pullSpec,
    relatedObjects: fc.array(reference, { maxLength: 3 }),
  },
  { requiredKeys: [] },
);

const ref = (name: string) => ({ kind: machineOSBuilds, name });

describe('a MachineOSBuild', () => {
  it('is refused by us when and why the API server refuses it', async () => {
    const property = fc.asyncProperty(brokenMembers(builds, ['spec']), async (object) => {
      const ours = checkObject(object, machineOSBuildKind);
      const theirs = await refusalOf(rig.client.create(machineOSBuilds, object as never));
      expect(verdictOf(ours, theirs)).toEqual(theirs);
      if (theirs === undefined) await rig.client.remove(ref(nameOf(object)));
    });
    await fc.assert(property, { numRuns: 200 });
  });

  it('is changed only as the API server lets it be changed', async () => {
    const kept = buildOf('kept');
    await rig.client.create(machineOSBuilds, kept);
    const property = fc.asyncProperty(brokenMembers(builds, ['spec']), async (other) => {
      const stored = await rig.client.get(ref('kept'));
      const next = { ...stored, spec: other['spec'] } as unknown as KubeObject;
      const ours = checkObject(next as never, machineOSBuildKind, stored as never);
      const theirs = await refusalOf(rig.client.replace(ref('kept'), next));
      expect(verdictOf(ours, theirs)).toEqual(theirs);
    });
    await fc.assert(property, { numRuns: 100 });
  });

  it('has a status that is refused by us when and why the API server refuses it', async () => {
    const pairs = fc.tuple(statuses, brokenMembers(statuses, []));
    const property = fc.asyncProperty(pairs, async ([first, second]) => {
      await rig.client.create(machineOSBuilds, buildOf('b'));
      let old: Fields | undefined;
      for (const status of [first, second]) {
        const ours = statusErrors(status, machineOSBuildKind, old);
        const theirs = await refusalOf(rig.client.replaceStatus(ref('b'), status));
        expect(verdictOf(ours, theirs)).toEqual(theirs);
        old = (await rig.client.get(ref('b')))?.['status'] as Fields | undefined;
      }
      await rig.client.remove(ref('b'));
    });
    await fc.assert(property, { numRuns: 100 });
  });
});

describe('the objects of a hand-over', () => {
  it('are taken as they were made', async () => {
    const made = defaultMachineOSConfig({
      pool: 'infra',
      pushSpec: 'registry.example.com/ocl/infra:latest',
      pushSecret: 'push',
    });
    const config = readMachineOSConfig(lineless(made as never, 'made'));
    const renderedConfig = `rendered-infra-${'0'.repeat(32)}`;
    const empty = {
      apiVersion: '',
      fieldPath: '',
      kind: '',
      namespace: '',
      resourceVersion: '',
      uid: '',
    };
    const name = buildName({
      config,
      pool: { name: 'infra', configuration: { ...empty, name: renderedConfig, source: [] } },
      images: {
        baseOSContainerImage: 'r.example.com/base@sha256:0',
        baseOSExtensionsContainerImage: '',
        osImageURL: '',
        releaseVersion: '4.23.0',
      },
    });
    const image = withDigest(config.spec.renderedImagePushSpec, `sha256:${'a'.repeat(64)}`);
    const at = new Date('2026-01-01T00:00:00.900Z');
    const build = machineOSBuildObject(config, { name, renderedConfig });
    const buildStatus = seededBuildStatus({ startedAt: at, endedAt: at, image });
    await rig.client.create(machineOSBuilds, build as never);
    await rig.client.mergeStatus(ref(name), buildStatus);
    const { metadata } = await rig.client.create(machineOSConfigs, made);
    const configStatus = handedOverStatus({ name, image, generation: 1 });
    await rig.client.mergeStatus({ kind: machineOSConfigs, name: 'infra' }, configStatus);
    const owned = buildOwnership({ name: 'infra', uid: metadata.uid ?? '' });
    await rig.client.merge(ref(name), { metadata: owned });
    const stored = await rig.client.get(ref(name));
    expect(stored?.metadata).toMatchObject(owned);
    expect(stored).toMatchObject({ ...build, status: buildStatus });
    const storedConfig = await rig.client.get({ kind: machineOSConfigs, name: 'infra' });
    expect(storedConfig).toMatchObject({ spec: config.spec, status: configStatus });
    expect(preparedObject(stored as never, machineOSBuildKind)['spec']).toEqual(build.spec);
  });
});

const nameOf = (object: Fields): string => (object['metadata'] as { readonly name: string }).name;

const buildOf = (name: string): KubeObject => ({
  apiVersion: machineOSBuildKind.apiVersion,
  kind: machineOSBuildKind.kind,
  metadata: { name },
  spec: {
    machineConfig: { name: 'rendered-worker-1' },
    machineOSConfig: { name: 'worker' },
    renderedImagePushSpec: 'registry.example.com/ocl/worker:latest',
  },
});
