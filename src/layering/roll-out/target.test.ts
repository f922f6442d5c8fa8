import { describe, expect, it } from 'vitest';
import type { KubeObject } from '../../ports/kube.ts';
import { buildKeys } from '../api/os-build.ts';
import { foreignReason, rollOutTarget } from './target.ts';

const machineConfigPool = { metadata: { name: 'w' }, spec: { configuration: { name: 'r2' } } };

const build = (name: string, more: { config?: string; succeeded?: string } = {}) => ({
  metadata: { name },
  spec: { machineConfig: { name: more.config ?? 'r2' } },
  status: {
    conditions: [{ type: 'Succeeded', status: more.succeeded ?? 'True' }],
    digestedImagePushSpec: `image-of-${name}`,
  },
});

const osConfig = (current: string, more: { image?: string } = {}) => ({
  metadata: {
    name: 'w',
    annotations: { [buildKeys.currentBuild]: current },
  },
  status: { currentImagePullSpec: more.image ?? `image-of-${current}` },
});

const previous = build('b1', { config: 'r1' });

describe('rollOutTarget', () => {
  it.each<[string, KubeObject | undefined, readonly KubeObject[], object]>([
    ['has no MachineOSConfig', undefined, [], { target: { config: 'r2', image: undefined } }],
    ['has no build yet', osConfig('b2'), [previous], { waitsFor: 'a MachineOSBuild' }],
    [
      'has an unfinished build',
      osConfig('b2'),
      [build('b2', { succeeded: 'False' })],
      { waitsFor: 'MachineOSBuild b2 to succeed' },
    ],
    [
      'has a build of another MachineConfig',
      osConfig('b1'),
      [previous],
      { waitsFor: 'a MachineOSBuild of r2' },
    ],
    [
      'has a MachineOSConfig with the previous image',
      osConfig('b2', { image: 'image-of-b1' }),
      [build('b2')],
      { waitsFor: 'MachineOSConfig w to name the image of b2' },
    ],
    [
      'has a finished build',
      osConfig('b2'),
      [previous, build('b2')],
      { target: { config: 'r2', image: 'image-of-b2' } },
    ],
  ])('for a pool that %s', (...[, config, builds, expected]) => {
    const snapshot = { machineConfigPool, osConfig: config, builds };
    expect(rollOutTarget(snapshot)).toEqual(expected);
  });

  it('waits for a rendered MachineConfig', () => {
    const bare = { machineConfigPool: undefined, osConfig: undefined };
    expect(rollOutTarget({ ...bare, builds: [] })).toEqual({
      waitsFor: 'a rendered MachineConfig of the pool',
    });
  });
});

describe('foreignReason', () => {
  const owned = (name: string, kind = 'MachineConfigPool'): KubeObject['metadata'] =>
    ({ name: 'r1', ownerReferences: [{ kind, name }] }) as KubeObject['metadata'];
  const ofPool = (one: ReturnType<typeof build>, name = 'w') => ({
    ...one,
    spec: { ...one.spec, machineOSConfig: { name } },
  });
  const [r1, r2] = [{ name: 'r1' }, { name: 'r2' }];
  const [b1, b2] = [previous, build('b2')];
  const image = 'image-of-b2';
  it.each<[string, object, KubeObject['metadata'], readonly KubeObject[], boolean]>([
    ['the configuration of the pool', { config: 'r2' }, r2, [], false],
    ['an earlier configuration of the pool', { config: 'r1' }, owned('w'), [], false],
    ['a configuration without an owner', { config: 'r1' }, r1, [], true],
    ['a configuration of another pool', { config: 'r1' }, owned('x'), [], true],
    [
      'a configuration owned by another kind',
      { config: 'r1' },
      owned('w', 'KubeletConfig'),
      [],
      true,
    ],
    ['a built image', { config: 'r2', image }, r2, [ofPool(b1), ofPool(b2)], false],
    [
      'an image built from another configuration',
      { config: 'r1', image },
      owned('w'),
      [ofPool(b2)],
      true,
    ],
    ['an image built for another pool', { config: 'r2', image }, r2, [ofPool(b2, 'x')], true],
    [
      'an image of an unfinished build',
      { config: 'r2', image },
      r2,
      [ofPool(build('b2', { succeeded: 'False' }))],
      true,
    ],
  ])('for %s', (...[, target, metadata, builds, isForeign]) => {
    const { config = '', image: desired } = target as { config?: string; image?: string };
    const origin = { pool: machineConfigPool, config: { metadata }, builds };
    expect(foreignReason({ config, image: desired }, origin) !== undefined).toBe(isForeign);
  });
});
