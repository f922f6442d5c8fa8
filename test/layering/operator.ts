import {
  jobs,
  machineConfigPools,
  machineOSBuilds,
  machineOSConfigs,
  nodes,
} from '../../src/kube/kinds.ts';
import { decideControllers } from '../../mocks/cluster/layering/controllers.ts';
import { operatorQueues } from '../../mocks/cluster/layering/queues.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Kube, KubeObject } from '../../src/ports/kube.ts';
import { operator as namespace } from './hand-over-site.ts';
import { nodeObject } from './layered-pool.ts';

/** Inputs of the operator. */
interface OperatorSite {
  readonly kube: Kube;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Milliseconds between two polls of the queues. */
const interval = 100;

/**
 * Runs the controllers of the Machine Config Operator with their own timings until the signal
 * aborts. Resolves with their actions that must never be necessary.
 */
export async function runOperator(site: OperatorSite): Promise<readonly string[]> {
  const { kube, clock, signal } = site;
  const queues = operatorQueues();
  const done: string[] = [];
  while (!signal.aborted) {
    const [pools, osConfigs, builds, allNodes, allJobs] = await Promise.all([
      kube.list({ kind: machineConfigPools }, signal),
      kube.list({ kind: machineOSConfigs }, signal),
      kube.list({ kind: machineOSBuilds }, signal),
      kube.list({ kind: nodes }, signal),
      kube.list({ kind: jobs, namespace }, signal),
    ]).catch(() => [[], [], [], [], []]);
    const objects = { pools, osConfigs, builds, nodes: allNodes, jobs: allJobs };
    for (const view of queues.viewsAt(clock.now(), objects)) {
      for (const action of decideControllers(view)) {
        done.push(Object.values(action).join(' '));
        await apply(site, action).catch(() => undefined);
      }
    }
    await clock.sleep(interval, signal).catch(() => undefined);
  }
  return done;
}

async function apply(
  { kube, signal }: OperatorSite,
  action: ReturnType<typeof decideControllers>[number],
): Promise<void> {
  switch (action.kind) {
    case 'take-image':
      await annotateImage({ kube, signal }, action.node, null);
      return;
    case 'roll-out':
      await annotateImage({ kube, signal }, action.node, action.image);
      return;
    case 'start-job':
    case 'start-build': {
      const of = action.kind === 'start-job' ? action.build : `${action.pool}-own`;
      await kube.create({ kind: jobs, namespace }, jobObject(of), signal);
    }
  }
}

const annotateImage = (
  { kube, signal }: Pick<OperatorSite, 'kube' | 'signal'>,
  name: string,
  image: string | null,
): Promise<KubeObject> => {
  const annotations = { 'machineconfiguration.openshift.io/desiredImage': image };
  return kube.patch(
    { kind: nodes, name },
    { type: 'merge', body: { metadata: { annotations } } },
    signal,
  );
};

const jobObject = (of: string): KubeObject => ({
  apiVersion: 'batch/v1',
  kind: 'Job',
  metadata: { name: `build-${of}`, namespace },
  spec: {
    template: {
      spec: { restartPolicy: 'Never', containers: [{ name: 'build', image: 'r.test/mco:1' }] },
    },
  },
});

/** A master that has booted an image and joined with it, with the annotations of its daemon. */
export const masterOn = (name: string, rendered: string, image: string): KubeObject =>
  nodeObject(name, 'master', {
    currentConfig: rendered,
    desiredConfig: rendered,
    currentImage: image,
    desiredImage: image,
    state: 'Done',
  });
