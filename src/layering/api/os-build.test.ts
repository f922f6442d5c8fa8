import { describe, expect, it } from 'vitest';
import { osConfig } from '../../../test/layering/samples.ts';
import { machineOSBuildObject, seededBuildStatus } from './os-build.ts';

const at = new Date('2026-01-01T00:00:00.700Z');

describe('the status of a build', () => {
  it.each([
    [at, '2026-01-01T00:00:01Z'],
    [new Date('2026-01-01T00:00:09.100Z'), '2026-01-01T00:00:09Z'],
  ])('ends at least a second after its start', (endedAt, buildEnd) => {
    expect(seededBuildStatus('i', at, endedAt)).toMatchObject({
      buildStart: '2026-01-01T00:00:00Z',
      buildEnd,
    });
  });
});

describe('machineOSBuildObject', () => {
  it('has its labels from the start, and its name for a tag', () => {
    const key = (name: string): string => `machineconfiguration.openshift.io/${name}`;
    expect(machineOSBuildObject(osConfig(), 'master-0', 'R')).toMatchObject({
      metadata: {
        name: 'master-0',
        labels: {
          [key('target-machine-config-pool')]: 'master',
          [key('rendered-machine-config')]: 'R',
          [key('machine-os-config')]: 'master',
          [key('pre-built-image')]: 'true',
        },
        annotations: { [key('rendered-image-push-secret')]: 'ocl-push' },
      },
      spec: { renderedImagePushSpec: 'registry.rig.test/ocl/master:master-0' },
    });
  });
});
