import type { KubeClient } from '../../mocks/kube/client.ts';
import {
  jobs,
  machineOSBuilds,
  machineOSConfigs,
  namespaces,
  secrets,
} from '../../src/cluster/kinds.ts';
import type { KubeObject, KubeRef } from '../../src/ports/kube.ts';
import { key } from '../layering/hand-over-run.ts';
import { buildNamed, operator, rendered, site } from '../layering/hand-over-site.ts';

/** Puts the objects that a hand-over begins with into a cluster. */
export async function putSite(client: KubeClient): Promise<void> {
  const metadata = { name: operator };
  await client.apply(namespaces, { apiVersion: 'v1', kind: 'Namespace', metadata });
  for (const [kind, object] of site) await client.apply(kind, object);
}

/** The MachineOSBuild of a hand-over. */
export const build: KubeRef = { kind: machineOSBuilds, name: buildNamed };
/** The MachineOSConfig of a hand-over. */
export const osConfig: KubeRef = { kind: machineOSConfigs, name: 'master' };
/** The job of a builder that was faster. */
export const job: KubeRef = { kind: jobs, name: `build-${buildNamed}`, namespace: operator };
/** The Secret with which nodes pull. */
export const secret: KubeRef = { kind: secrets, name: 'ocl-push', namespace: operator };

/**
 * Takes away what a hand-over leaves, and that job; finalizers first, since nobody collects here what is deleted in the
 * foreground.
 */
export async function removeHandOver(client: KubeClient): Promise<void> {
  if ((await client.get(build)) !== undefined) {
    await client.merge(build, { metadata: { finalizers: null } });
  }
  for (const ref of [build, osConfig, job, secret]) await client.remove(ref);
}

/** The versions of what was handed over: the same as long as nothing is written. */
export const versionsIn = async (client: KubeClient): Promise<readonly unknown[]> =>
  Promise.all(
    [build, osConfig, secret].map(async (ref) => (await client.get(ref))?.metadata.resourceVersion),
  );

/** The MachineOSBuild as the builder of the cluster makes it. */
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

/** Its job. */
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
