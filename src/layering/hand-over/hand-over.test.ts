import { describe, expect, it } from 'vitest';
import { httpd, osConfig, osConfigObject } from '../../../test/layering/samples.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { type BuildPhase, conditionsOf } from '../../../test/layering/build-conditions.ts';
import { machineOSBuildObject } from '../api/os-build.ts';
import type { Fields } from '../../lib/fields.ts';
import {
  annotationPatch,
  asksTheSame,
  buildProblem,
  compareRendered,
  finishedStatus,
  isFinishedBuild,
  ownershipPatch,
} from './hand-over.ts';

const image = `registry.rig.test/ocl/master@sha256:${'a'.repeat(64)}`;
const wanted = machineOSBuildObject(osConfig(), 'master-0', 'rendered-x');
const made = wanted as unknown as KubeObject;
const byBuilder = { ...made, metadata: { name: 'master-0' } };
const at = new Date('2026-01-01T00:00:10Z');
const inPhase = (phase: BuildPhase, digest?: string) => ({
  status: {
    conditions: conditionsOf(phase, at),
    ...(digest === undefined ? {} : { digestedImagePushSpec: digest }),
  },
});

describe('an existing MachineOSBuild', () => {
  it.each<[string, KubeObject, boolean]>([
    ['new', made, false],
    ['seeded', { ...made, ...inPhase('seeded', image) }, true],
    ['created by the builder', byBuilder, false],
    ['being built', { ...byBuilder, ...inPhase('running') }, false],
    ['built before', { ...byBuilder, ...inPhase('succeeded', image) }, true],
  ])('that is %s is usable', (_, found, isFinished) => {
    expect(buildProblem(found, wanted, image)).toBeUndefined();
    expect(isFinishedBuild(found)).toBe(isFinished);
  });

  it.each<[string, KubeObject, RegExp]>([
    ['failed', { ...byBuilder, ...inPhase('failed') }, /^it has Failed$/],
    ['interrupted', { ...made, ...inPhase('interrupted') }, /Interrupted/],
    ['of another image', { ...made, ...inPhase('succeeded', 'other') }, /with image other/],
    ['of another spec', { ...made, spec: { machineConfig: { name: 'x' } } }, /its spec is/],
    [
      'being deleted',
      { ...made, metadata: { ...made.metadata, deletionTimestamp: '2026' } },
      /deleted/,
    ],
  ])('that is %s is a problem', (_, found, problem) => {
    expect(buildProblem(found, wanted, image)).toMatch(problem);
  });
});

describe('finishedStatus', () => {
  it.each([
    ['2026-01-01T00:00:00Z', '2026-01-01T00:00:10Z'],
    ['2026-01-01T00:01:00Z', '2026-01-01T00:01:01Z'],
  ])('keeps a recorded start and ends after it', (buildStart, buildEnd) => {
    const found = { ...made, status: { buildStart } };
    expect(finishedStatus(found, image, at)).toMatchObject({ buildStart, buildEnd });
  });
});

describe('ownershipPatch', () => {
  const owner = { name: 'master', uid: 'u1' };
  const patched = (more: object) =>
    ownershipPatch({ ...made, metadata: { ...made.metadata, ...more } }, owner) as
      { metadata: { ownerReferences: object[]; finalizers: string[] } } | undefined;

  it('adds the owner and the finalizer once', () => {
    const patch = patched({});
    expect(patch).toMatchObject({
      metadata: {
        ownerReferences: [{ kind: 'MachineOSConfig', uid: 'u1', controller: true }],
        finalizers: ['foregroundDeletion'],
      },
    });
    expect(patched(patch?.metadata ?? {})).toBeUndefined();
  });

  it('keeps other finalizers and owners except an earlier MachineOSConfig', () => {
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

  it('adds the finalizer when the builder has already set the owner', () => {
    const owners = [{ kind: 'MachineOSConfig', uid: 'u1' }];
    const patch = patched({ ownerReferences: owners });
    expect(patch?.metadata).toEqual({
      ownerReferences: owners,
      finalizers: ['foregroundDeletion'],
    });
  });
});

const prefix = 'machineconfiguration.openshift.io';
const current = `${prefix}/current-machine-os-build`;
const seeding = `${prefix}/pre-built-image`;
const rebuild = `${prefix}/rebuild`;

describe('asksTheSame', () => {
  const found = (spec: Fields = {}) => osConfigObject(spec) as unknown as KubeObject;

  it.each<[string, Fields]>([
    ['the default architecture', { containerFile: [{ content: httpd }] }],
    ['a field that the cluster adds', { added: 'by the cluster' }],
  ])('ignores %s', (_, spec) => {
    expect(asksTheSame(osConfigObject(spec), found())).toBe(true);
    expect(asksTheSame(osConfigObject(), found(spec))).toBe(true);
  });

  it.each<[string, Fields]>([
    ['pool', { machineConfigPool: { name: 'infra' } }],
    ['builder', { imageBuilder: { imageBuilderType: 'Pod' } }],
    ['repository', { renderedImagePushSpec: 'registry.rig.test/other/master:latest' }],
    ['push Secret', { renderedImagePushSecret: { name: 'other' } }],
    ['base Secret', { baseImagePullSecret: { name: 'base' } }],
    ['Containerfile', { containerFile: [{ content: `${httpd}RUN true\n` }] }],
    ['architecture', { containerFile: [{ containerfileArch: 'ARM64', content: httpd }] }],
    [
      'number of Containerfiles',
      {
        containerFile: [{ content: httpd }, { containerfileArch: 'ARM64', content: httpd }],
      },
    ],
  ])('sees another %s', (_, spec) => {
    expect(asksTheSame(osConfigObject(spec), found())).toBe(false);
    expect(asksTheSame(osConfigObject(), found(spec))).toBe(false);
  });
});

describe('annotationPatch', () => {
  const found = (annotations: Record<string, string>) => ({
    metadata: { name: 'master', annotations },
  });

  it.each([
    [{ [current]: 'b' }, undefined],
    [{}, { [current]: 'b' }],
    [{ [current]: 'a' }, { [current]: 'b' }],
    [
      { [current]: 'b', [seeding]: 'i' },
      { [current]: 'b', [seeding]: null },
    ],
    [{ [rebuild]: 'x' }, { [current]: 'b', [rebuild]: null }],
  ])('for %j is %j', (annotations, patch) => {
    const expected = patch === undefined ? undefined : { metadata: { annotations: patch } };
    expect(annotationPatch(found(annotations), 'b')).toEqual(expected);
  });
});

const osImage = 'quay.io/os@sha256:0';
const file = (path: string, source = 'data:,x'): Fields => ({ path, contents: { source } });
const config = (spec: Fields, files: readonly Fields[] = [], units: readonly Fields[] = []) => ({
  spec: {
    osImageURL: osImage,
    ...spec,
    config: { ignition: { version: '3.5.0' }, storage: { files }, systemd: { units } },
  },
});
const difference = (bootstrap: Fields, cluster: Fields) =>
  compareRendered(bootstrap, osImage, cluster).difference;

describe('the difference of rendered MachineConfigs', () => {
  it('names missing, additional and changed files and units', () => {
    const bootstrap = config({}, [file('/a'), file('/b')], [{ name: 'u.service' }]);
    const cluster = config({}, [file('/b', 'data:,y'), file('/c')]);
    expect(difference(bootstrap, cluster)).toBe(
      "file /a is not in the cluster's, file /b differs, file /c is only in the cluster's, unit u.service is not in the cluster's",
    );
  });

  it('ignores the served OS image and empty members', () => {
    const bootstrap = config({ osImageURL: 'built', extensions: [], kernelType: '' });
    expect(difference(bootstrap, config({ kernelArguments: null }))).toBe(
      'their specs are equal in every field that is compared',
    );
  });

  it('ignores the encoding, the order and the defaults of files', () => {
    const bootstrap = config({}, [file('/a', 'data:,a%20b'), file('/b')]);
    const other = { ...file('/a', 'data:text/plain;base64,YSBi'), mode: 420, overwrite: true };
    expect(difference(bootstrap, config({}, [file('/b'), other]))).toBe(
      'their specs are equal in every field that is compared',
    );
  });

  it('names another OS image of the release', () => {
    expect(difference(config({}), config({ osImageURL: 'other' }))).toBe('spec.osImageURL differs');
  });

  it('names five differences and the number of the others', () => {
    const many = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((name) => file(`/${name}`));
    expect(difference(config({}, many), { spec: { osImageURL: osImage } })).toMatch(
      /\/e .* and 2 more$/,
    );
  });
});
