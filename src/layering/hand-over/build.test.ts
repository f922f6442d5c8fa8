import { describe, expect, it } from 'vitest';
import { osConfig } from '../../../test/layering/samples.ts';
import { machineOSBuildObject } from '../os-build/object.ts';
import { type BuildPhase, conditionsOf } from '../os-build/status.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { finishedStatus, ownershipPatch, standingOf } from './build.ts';

const image = `registry.rig.test/ocl/master@sha256:${'a'.repeat(64)}`;
const wanted = machineOSBuildObject(osConfig(), { name: 'master-0', renderedConfig: 'rendered-x' });
const made = wanted as unknown as KubeObject;
const byBuilder = { ...made, metadata: { name: 'master-0' } };
const at = new Date('2026-01-01T00:00:10Z');
const inPhase = (phase: BuildPhase, digest?: string) => ({
  status: {
    conditions: conditionsOf(phase, at),
    ...(digest === undefined ? {} : { digestedImagePushSpec: digest }),
  },
});
const judge = (found: KubeObject) => standingOf(found, { wanted, image });

describe('a MachineOSBuild that is there', () => {
  it.each<[string, KubeObject, object]>([
    ['just made', made, { kind: 'ours', isFinished: false }],
    ['handed over', { ...made, ...inPhase('seeded', image) }, { kind: 'ours', isFinished: true }],
    ['of the builder', byBuilder, { kind: 'of-the-builder', isFinished: false }],
    [
      'being built',
      { ...byBuilder, ...inPhase('running') },
      { kind: 'of-the-builder', isFinished: false },
    ],
    [
      'found by its tag',
      { ...byBuilder, ...inPhase('succeeded', image) },
      { kind: 'of-the-builder', isFinished: true },
    ],
    ['failed', { ...byBuilder, ...inPhase('failed') }, { kind: 'in-the-way' }],
    ['interrupted', { ...made, ...inPhase('interrupted') }, { kind: 'in-the-way' }],
    ['of another image', { ...made, ...inPhase('succeeded', 'other') }, { kind: 'in-the-way' }],
    [
      'of another spec',
      { ...made, spec: { machineConfig: { name: 'x' } } },
      { kind: 'in-the-way' },
    ],
    [
      'going',
      { ...made, metadata: { ...made.metadata, deletionTimestamp: '2026' } },
      { kind: 'in-the-way' },
    ],
  ])('and %s is judged', (_, found, standing) => {
    expect(judge(found)).toMatchObject(standing);
  });
});

describe('finishedStatus', () => {
  it('begins and ends now', () => {
    expect(finishedStatus(made, { image, at })).toMatchObject({
      buildStart: '2026-01-01T00:00:10Z',
      buildEnd: '2026-01-01T00:00:11Z',
      digestedImagePushSpec: image,
    });
  });

  it.each([
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:10Z'],
    ['2026-01-01T00:01:00Z', '2026-01-01T00:01:01Z'],
  ])('keeps a start that is written, and ends behind it', (buildStart, buildEnd) => {
    const found = { ...made, status: { buildStart } };
    expect(finishedStatus(found, { image, at })).toMatchObject({ buildStart, buildEnd });
  });
});

describe('ownershipPatch', () => {
  const owner = { name: 'master', uid: 'u1' };
  const patched = (more: object) =>
    ownershipPatch({ ...made, metadata: { ...made.metadata, ...more } }, owner) as
      { metadata: { ownerReferences: object[]; finalizers: string[] } } | undefined;

  it('ties a build once', () => {
    const patch = patched({});
    expect(patch).toMatchObject({
      metadata: {
        ownerReferences: [{ kind: 'MachineOSConfig', uid: 'u1', controller: true }],
        finalizers: ['foregroundDeletion'],
      },
    });
    expect(patched(patch?.metadata ?? {})).toBeUndefined();
  });

  it('leaves other finalizers and owners, but none of an earlier MachineOSConfig', () => {
    const patch = patched({
      ownerReferences: [
        { kind: 'MachineOSConfig', uid: 'u0', controller: true },
        { kind: 'ConfigMap', uid: 'c' },
      ],
      finalizers: ['other'],
    });
    expect(patch?.metadata.ownerReferences).toMatchObject([{ uid: 'c' }, { uid: 'u1' }]);
    expect(patch?.metadata.finalizers).toEqual(['other', 'foregroundDeletion']);
  });

  it('adds the finalizer where the builder has tied it already', () => {
    const owners = [{ kind: 'MachineOSConfig', uid: 'u1' }];
    const patch = patched({ ownerReferences: owners });
    expect(patch?.metadata).toEqual({
      ownerReferences: owners,
      finalizers: ['foregroundDeletion'],
    });
  });
});
