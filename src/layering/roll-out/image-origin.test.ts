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
import type { KubeObject } from '../../ports/kube.ts';
import { poolProgress } from './progress.ts';

const running = (phase: 'running' | 'failed'): LayeredPool => ({
  build: {
    status: { buildStart: '2026-11-23T11:50:00Z', conditions: conditionsOf(phase, new Date(0)) },
  },
});

describe('the next build', () => {
  const ended = { state: { terminated: { reason: 'Completed' } } };
  it.each([
    [
      'Pending, ImagePullBackOff',
      {
        phase: 'Pending',
        initContainerStatuses: [ended],
        containerStatuses: [{ state: { waiting: { reason: 'ImagePullBackOff' } } }],
      },
    ],
    ['Running', { phase: 'Running', initContainerStatuses: [ended] }],
  ])('is reported with its pod while it is %s', (text, status) => {
    const labels = { 'batch.kubernetes.io/job-name': `build-${masterBuild}` };
    const buildPod: KubeObject = { metadata: { name: 'build-x', labels }, status };
    const pods = [buildPod, { metadata: { name: 'y' } }];
    const deployments = [{ metadata: { name: 'machine-config-controller' } }];
    const operator = { deployments, leases: [], now: 0, pods };
    const progress = poolProgress('master', rollOutCluster(running('running'), { operator }));
    expect(progress.nextBuild).toMatchObject({
      phase: 'Building',
      since: '2026-11-23T11:50:00Z',
      isOver: false,
      pod: `build-x: ${text}`,
    });
    expect(progress.nodes[0]?.waitsFor).toBe(`MachineOSBuild ${masterBuild}: Building`);
    expect(progress.actions).toEqual([]);
  });

  it('is missing where only the MachineOSConfig names it', () => {
    const { nextBuild } = poolProgress('master', rollOutCluster({}, { builds: [] }));
    expect(nextBuild).toMatchObject({ name: masterBuild, phase: 'missing', isOver: false });
  });

  it('and an origin are absent in a pool without a MachineOSConfig', () => {
    const { nextBuild, origin } = poolProgress('worker', rollOutCluster());
    expect([nextBuild, origin]).toEqual([undefined, undefined]);
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

  it.each([
    ['named by the MachineOSConfig', 'master-2', 'master-2', '2026-11-23T11:00:00Z'],
    ['that ended last, if it names none of them', 'none', 'master-3', '2026-11-23T11:30:00Z'],
  ])('is, of several builds that used an image again, the one %s', (_, name, build, builtAt) => {
    const { osConfigs, builds } = layeredCluster();
    const named = {
      ...osConfigs[0],
      metadata: { name: 'master', annotations: { [key]: name } },
      status: {
        currentImagePullSpec: masterImage,
        observedGeneration: 4,
        machineOSBuild: { name },
      },
    };
    const ended = (of: string, buildEnd: string, digestedImagePushSpec = masterImage) => ({
      ...newer,
      metadata: { name: of },
      status: { ...newer.status, buildEnd, digestedImagePushSpec },
    });
    const later = [
      ended('other', '2026-11-23T11:40:00Z', 'another'),
      ended('master-3', '2026-11-23T11:30:00Z'),
      newer,
    ];
    const { origin } = poolProgress(
      'master',
      rollOutCluster({}, { osConfigs: [named], builds: [...later, ...builds] }),
    );
    expect(origin).toMatchObject({
      build,
      isOfInstallation: false,
      reusedFrom: masterBuild,
      generation: 4,
      builtAt,
    });
  });
});
