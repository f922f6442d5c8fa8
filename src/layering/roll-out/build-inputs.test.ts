import { describe, expect, it } from 'vitest';
import { machineConfigObject, osConfigObject } from '../../../test/layering/samples.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { buildKeys, builtFromKey } from '../api/os-build.ts';
import type { Fields } from '../api/schema.ts';
import { type PlannedBuild, plannedBuild } from './build-inputs.ts';

const kubeObject = (object: Fields): KubeObject => object as object as KubeObject;
const rendered = kubeObject(machineConfigObject());
const { name } = rendered.metadata;
const poolOf = (configuration: object = {}): KubeObject => ({
  metadata: { name: 'master' },
  spec: { configuration: { name, source: [{ name: '00-master' }], ...configuration } },
});
const withSpec = (spec: object): KubeObject => ({
  ...rendered,
  spec: { ...(rendered['spec'] as object), ...spec },
});
const withUsers = (users: readonly object[]): KubeObject => {
  const { config: own } = rendered['spec'] as { readonly config: object };
  return withSpec({ config: { ...own, passwd: { users } } });
};
const config = (files: readonly object[]): object => ({
  config: { ignition: { version: '3.5.0' }, storage: { files } },
});

interface Change {
  readonly osConfig?: Fields;
  readonly machineConfig?: KubeObject;
  readonly pool?: KubeObject;
}

const planOf = ({ osConfig = {}, machineConfig = rendered, pool = poolOf() }: Change = {}) =>
  plannedBuild({
    osConfig: kubeObject(osConfigObject(osConfig)),
    machineConfig,
    machineConfigPool: pool,
  });
const built = (plan: PlannedBuild): KubeObject => {
  if ('reason' in plan) throw new Error(plan.reason);
  return plan.build;
};
const sumOf = (change: Change = {}): string =>
  built(planOf(change)).metadata.annotations?.[builtFromKey] ?? '';
const nameOf = (change: Change = {}): string => built(planOf(change)).metadata.name;

const other = `rendered-master-${'9'.repeat(32)}`;
const renamed: Change = {
  machineConfig: { ...rendered, metadata: { ...rendered.metadata, name: other } },
  pool: poolOf({ name: other }),
};
const unused = { baseOSExtensionsContainerImage: 'r.test/other:1' };

describe('the build of a pool', () => {
  it('is named and labelled as the operator does, and is none that was built elsewhere', () => {
    const { metadata, spec } = built(planOf()) as KubeObject & { readonly spec: object };
    expect(metadata.name).toMatch(/^master-[0-9a-f]{32}$/);
    expect(metadata.labels).toEqual({
      [buildKeys.pool]: 'master',
      [buildKeys.renderedConfig]: name,
      [buildKeys.osConfig]: 'master',
    });
    expect(metadata.annotations).toEqual({
      [buildKeys.pushSecret]: 'ocl-push',
      [builtFromKey]: expect.stringMatching(/^[0-9a-f]{32}$/) as string,
    });
    expect(spec).toEqual({
      machineConfig: { name },
      machineOSConfig: { name: 'master' },
      renderedImagePushSpec: `registry.rig.test/ocl/master:${metadata.name}`,
    });
  });

  it.each<[string, Change]>([
    ['the name of the rendered MachineConfig', renamed],
    ['kernel arguments', { machineConfig: withSpec({ kernelArguments: ['quiet'] }) }],
    ['the password of core', { machineConfig: withUsers([{ name: 'core', passwordHash: '$y$' }]) }],
    ['FIPS, which an installation sets', { machineConfig: withSpec({ fips: true }) }],
    ['where it is pushed to', { osConfig: { renderedImagePushSpec: 'r.test/ocl/m:2' } }],
    ['with which Secret it is pushed', { osConfig: { renderedImagePushSecret: { name: 'p' } } }],
    ['an extensions image of which nothing is installed', { machineConfig: withSpec(unused) }],
    ['a MachineConfig of the pool that changes nothing', { pool: poolOf({ source: [] }) }],
  ])('has the same inputs whatever is %s', (_, change) => {
    expect(sumOf(change)).toBe(sumOf());
  });

  it.each<[string, Change]>([
    [
      'the Containerfile',
      { osConfig: { containerFile: [{ content: 'FROM configs AS final\n' }] } },
    ],
    ['the base', { machineConfig: withSpec({ osImageURL: 'r.test/os:2' }) }],
    ['a file', { machineConfig: withSpec(config([{ path: '/etc/a' }])) }],
    [
      'an extension',
      {
        machineConfig: withSpec({
          extensions: ['usbguard'],
          baseOSExtensionsContainerImage: 'r.test/x:1',
        }),
      },
    ],
    [
      'the kernel',
      {
        machineConfig: withSpec({
          kernelType: 'realtime',
          baseOSExtensionsContainerImage: 'r.test/x:1',
        }),
      },
    ],
  ])('has other inputs with another value for %s', (_, change) => {
    expect(sumOf(change)).not.toBe(sumOf());
  });

  it.each<[string, Change]>([
    ['another rendered MachineConfig', renamed],
    ['another push spec', { osConfig: { renderedImagePushSpec: 'r.test/ocl/m:2' } }],
    ['other sources of the pool', { pool: poolOf({ source: [{ name: '01-master' }] }) }],
  ])('has another name with %s', (_, change) => {
    expect(nameOf(change)).not.toBe(nameOf());
  });

  it.each<[string, Change, RegExp]>([
    [
      'a Containerfile that no image comes of',
      { osConfig: { containerFile: [{ content: 'FROM scratch\n' }] } },
      /the last stage is built on scratch/,
    ],
    ['an unknown extension', { machineConfig: withSpec({ extensions: ['x'] }) }, /extension x/],
    [
      'packages of no image',
      { machineConfig: withSpec({ kernelType: 'realtime', baseOSExtensionsContainerImage: '' }) },
      /names no image of extensions/,
    ],
    ['a pool without configuration', { pool: poolOf({ name: '' }) }, /no rendered MachineConfig/],
  ])('is refused with the reason for %s', (_, change, reason) => {
    const plan = planOf(change);
    expect('reason' in plan ? plan.reason : '').toMatch(reason);
  });
});
