import { describe, expect, it } from 'vitest';
import { layeredCluster } from '../../../test/layering/layered-pool.ts';
import { stagingReferences } from './staging.ts';

const address = '10.0.0.1:5000';
const staged = `${address}/ocl/master@sha256:${'a'.repeat(64)}`;
const cluster = layeredCluster();
const machineConfig = (spec: object, annotations = {}) => ({
  metadata: { name: 'mc', annotations },
  spec,
});
const clean = { ...cluster, machineConfigs: [machineConfig({ osImageURL: 'quay.io/x@sha256:0' })] };

describe('the guard against the registry of the bootstrap host', () => {
  it('finds nothing in a cluster that does not refer to it', () => {
    expect(stagingReferences(address, clean)).toEqual([]);
  });

  it.each([
    ['a node', { nodes: layeredCluster({ node: { currentImage: staged } }).nodes }, 2],
    [
      'a MachineOSConfig',
      {
        osConfigs: layeredCluster({ osConfig: { status: { currentImagePullSpec: staged } } })
          .osConfigs,
      },
      1,
    ],
    [
      'a push spec',
      {
        osConfigs: layeredCluster({
          osConfig: { spec: { renderedImagePushSpec: `${address}/a:b` } },
        }).osConfigs,
      },
      1,
    ],
    [
      'a MachineOSBuild',
      { builds: layeredCluster({ build: { status: { digestedImagePushSpec: staged } } }).builds },
      1,
    ],
    ['a MachineConfig', { machineConfigs: [machineConfig({ osImageURL: staged })] }, 1],
    [
      'an annotation of one',
      {
        machineConfigs: [
          machineConfig({}, { 'machineconfiguration.openshift.io/pre-built-image': staged }),
        ],
      },
      1,
    ],
    ['the address alone', { machineConfigs: [machineConfig({ osImageURL: address })] }, 1],
  ])('finds %s', (_, more, count) => {
    const found = stagingReferences(address, { ...clean, ...more });
    expect(found).toHaveLength(count);
    expect(found[0]).toContain(address);
  });

  it.each([`1${staged}`, `10.0.0.1:50000/x`, `registry.example.com/10.0.0.1`, `a.${staged}`])(
    'leaves %s alone',
    (osImageURL) => {
      const machineConfigs = [machineConfig({ osImageURL })];
      expect(stagingReferences(address, { ...clean, machineConfigs })).toEqual([]);
    },
  );
});
