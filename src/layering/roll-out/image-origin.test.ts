import { describe, expect, it } from 'vitest';
import {
  layeredCluster,
  type LayeredPool,
  masterBuild,
  masterImage,
  masterRendered,
} from '../../../test/layering/layered-pool.ts';
import { rollOutCluster } from '../../../test/layering/roll-out.ts';
import { conditionsOf } from '../../../test/layering/build-conditions.ts';
import { poolProgress } from './progress.ts';

const running = (phase: 'running' | 'failed'): LayeredPool => ({
  build: {
    status: { buildStart: '2026-11-23T11:50:00Z', conditions: conditionsOf(phase, new Date(0)) },
  },
});

describe('the next build', () => {
  const buildPod = {
    metadata: {
      name: 'build-x',
      labels: { 'batch.kubernetes.io/job-name': `build-${masterBuild}` },
    },
    status: {
      phase: 'Pending',
      containerStatuses: [{ state: { waiting: { reason: 'ImagePullBackOff' } } }],
    },
  };

  it('is reported with its pod while it runs', () => {
    const deployments = [{ metadata: { name: 'machine-config-controller' } }];
    const operator = { deployments, leases: [], now: 0, pods: [buildPod] };
    const progress = poolProgress('master', rollOutCluster(running('running'), { operator }));
    expect(progress.nextBuild).toMatchObject({
      phase: 'Building',
      since: '2026-11-23T11:50:00Z',
      isOver: false,
      pod: 'build-x: Pending, ImagePullBackOff',
    });
    expect(progress.nodes[0]?.waitsFor).toBe(`MachineOSBuild ${masterBuild}: Building`);
    expect(progress.actions).toEqual([]);
  });

  it('asks for an action and violates an invariant when it has failed', () => {
    const progress = poolProgress('master', rollOutCluster(running('failed')));
    expect(progress.nextBuild).toMatchObject({
      phase: 'Failed',
      isOver: true,
      message: 'Build Failed',
    });
    expect(progress.violations).not.toEqual([]);
    expect(progress.actions.join()).toContain(
      `why MachineOSBuild ${masterBuild} ended with Failed`,
    );
  });
});

describe('the origin of an image', () => {
  const newer = {
    metadata: { name: 'master-2' },
    spec: { machineConfig: { name: 'rendered-master-2' }, machineOSConfig: { name: 'master' } },
    status: {
      digestedImagePushSpec: masterImage,
      buildEnd: '2026-11-23T11:00:00Z',
      conditions: conditionsOf('succeeded', new Date(0)),
    },
  };
  const key = 'machineconfiguration.openshift.io/current-machine-os-build';

  it('is the build of the installation', () => {
    const [build] = layeredCluster().builds;
    const seeded = {
      ...build,
      metadata: {
        name: masterBuild,
        labels: { 'machineconfiguration.openshift.io/pre-built-image': 'true' },
      },
    };
    const { origin } = poolProgress('master', rollOutCluster({}, { builds: [seeded] }));
    expect(origin).toMatchObject({
      build: masterBuild,
      rendered: masterRendered,
      isOfInstallation: true,
      reusedFrom: '',
    });
  });

  it('is a build that reused the image of an earlier build', () => {
    const { osConfigs, builds } = layeredCluster();
    const [config] = osConfigs;
    const named = {
      ...config,
      metadata: { name: 'master', annotations: { [key]: 'master-2' } },
      status: {
        currentImagePullSpec: masterImage,
        observedGeneration: 4,
        machineOSBuild: { name: 'master-2' },
      },
    };
    const { origin } = poolProgress(
      'master',
      rollOutCluster({}, { osConfigs: [named], builds: [...builds, newer] }),
    );
    expect(origin).toMatchObject({
      build: 'master-2',
      reusedFrom: masterBuild,
      generation: 4,
      builtAt: '2026-11-23T11:00:00Z',
    });
  });
});
