import type { KubeClient } from '../../mocks/kube/client.ts';
import {
  jobs,
  machineConfigPools,
  machineOSBuilds,
  machineOSConfigs,
  namespaces,
  nodes,
  secrets,
} from '../../src/kube/kinds.ts';
import { poolSnapshot } from '../../src/layering/hand-over/pool-status.ts';
import type { Kube, KubeObject, KubeRef } from '../../src/ports/kube.ts';
import { key } from '../layering/hand-over-run.ts';
import {
  buildNamed,
  final,
  handOverFacts,
  operator,
  rendered,
  site,
} from '../layering/hand-over-site.ts';
import { masterOn } from '../layering/layered-pool.ts';

/** The facts of the gate before the pivot. */
export const gateFacts = {
  ...handOverFacts,
  controlPlane: { units: [] },
  registry: {
    kind: 'running' as const,
    address: '10.0.0.1:5000',
    data: '',
    certificates: '',
    authFile: '',
  },
};

const condition = (type: string, status: string) => ({
  type,
  status,
  reason: '',
  message: '',
  lastTransitionTime: '2026-11-21T12:00:00Z',
});

/** Puts two masters that run the image into a cluster, with the status of their pool. */
export async function putLayeredMasters(client: KubeClient): Promise<void> {
  for (const name of ['m1', 'm2']) {
    await client.apply(nodes, masterOn(name, rendered, final));
  }
  await client.mergeStatus(
    { kind: machineConfigPools, name: 'master' },
    {
      machineCount: 2,
      updatedMachineCount: 2,
      readyMachineCount: 2,
      conditions: [
        condition('Updated', 'True'),
        condition('Updating', 'False'),
        condition('Degraded', 'False'),
      ],
    },
  );
}

/** Snapshot of the masters and their image in a cluster. */
export async function snapshotOfMasters(kube: Kube) {
  const { signal } = new AbortController();
  const [pools, osConfigs, builds, all] = await Promise.all(
    [machineConfigPools, machineOSConfigs, machineOSBuilds, nodes].map((kind) =>
      kube.list({ kind }, signal),
    ),
  );
  return poolSnapshot('master', {
    pools: pools ?? [],
    osConfigs: osConfigs ?? [],
    builds: builds ?? [],
    nodes: all ?? [],
    jobs: await kube.list({ kind: jobs, namespace: operator }, signal),
  });
}

/** Puts the objects before a hand-over into a cluster. */
export async function putSite(client: KubeClient): Promise<void> {
  const metadata = { name: operator };
  await client.apply(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
  for (const [kind, object] of site) await client.apply(kind, object);
}

/** The MachineOSBuild of a hand-over. */
export const build: KubeRef = { kind: machineOSBuilds, name: buildNamed };
/** The MachineOSConfig of a hand-over. */
export const osConfig: KubeRef = { kind: machineOSConfigs, name: 'master' };
/** The Job of a builder that was faster. */
export const job: KubeRef = { kind: jobs, name: `build-${buildNamed}`, namespace: operator };
/** The Secret of the nodes' pulls. */
export const secret: KubeRef = { kind: secrets, name: 'ocl-push', namespace: operator };

/**
 * Removes the objects of a hand-over, and that Job; finalizers first, because no garbage collector
 * for foreground deletion runs here.
 */
export async function removeHandOver(client: KubeClient): Promise<void> {
  if ((await client.get(build)) !== undefined) {
    await client.merge(build, { metadata: { finalizers: null } });
  }
  for (const ref of [build, osConfig, job, secret]) await client.remove(ref);
}

/** The resourceVersions of the handed over objects: the same while nothing is written. */
export const versionsIn = async (client: KubeClient): Promise<readonly unknown[]> =>
  Promise.all(
    [build, osConfig, secret].map(async (ref) => (await client.get(ref))?.metadata.resourceVersion),
  );

/** The MachineOSBuild as the cluster's builder creates it. */
export const ownBuild = (): KubeObject => ({
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineOSBuild',
  metadata: {
    name: buildNamed,
    labels: {
      [key('target-machine-config-pool')]: 'master',
      [key('rendered-machine-config')]: rendered,
      [key('machine-os-config')]: 'master',
    },
  },
  spec: {
    machineConfig: { name: rendered },
    machineOSConfig: { name: 'master' },
    renderedImagePushSpec: `registry.rig.test/ocl/master:${buildNamed}`,
  },
});

/** The Job of that build. */
export const ownJob = (): KubeObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: job.name, namespace: operator },
  spec: {
    template: {
      spec: { restartPolicy: 'Never', containers: [{ name: 'build', image: 'r.test/mco:1' }] },
    },
  },
});
