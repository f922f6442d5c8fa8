import { containerLogs } from '../../cluster/mcs-log.ts';
import type { PollResult } from '../../engine/wait.ts';
import { layeringFailure } from '../../layering/failures.ts';
import {
  blockedControllerConfig,
  blockUnit,
  controllerConfig,
  isRendererLog,
  poolFile,
  renderedFile,
  rendererFailure,
} from '../../layering/manifests/bootstrap-files.ts';
import { operatorPools } from '../../layering/manifests/check-manifests.ts';
import {
  defaultStreamIn,
  osImageIn,
  renderedNameIn,
  streamIn,
} from '../../layering/manifests/served-machine-config.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { longestWait, combineWatches } from '../cluster/kube-watch.ts';
import { bootkubeArgvs, followedBootkube } from '../cluster/wait-for-bootkube.ts';
import { buildsOsImages } from '../conditions.ts';
import { readTextOr } from '../host-commands.ts';
import { unitMonitorArgv, unitWatch } from '../host/systemd-unit.ts';
import { step, type StepScope } from '../step.ts';
import { BuildRequest, type PoolRequest, type RenderedPool, RenderedPools } from './facts.ts';
import { readManifestFiles } from './manifests.ts';

type RenderingScope = StepScope<'host' | 'clock'>;

/** Waits until the temporary control plane has rendered the MachineConfigs for the images. */
export const waitForRendered = step({
  id: 'layering/wait-for-rendered',
  title: 'Wait for the MachineConfigs of the pools to be rendered',
  uses: ['host', 'clock'],
  needs: { request: BuildRequest },
  gives: RenderedPools,
  when: buildsOsImages,
  limit: longestWait + minutes(10),
  explain: () => `waits for ${controllerConfig}, which the bootstrap controller writes last`,
  preview: () => [unitMonitorArgv([blockUnit.service]), ...bootkubeArgvs],
  run: async (scope, { request }) => {
    if (request.kind !== 'on') return { kind: 'release', why: request.why } as const;
    await untilRendered(scope);
    return { kind: 'pools', pools: await readRenderedPools(scope, request.pools) } as const;
  },
});

/**
 * Waits for the file that the bootstrap controller writes last, at its current path.
 * @throws AgentError `layering.not-rendered` if the controller fails, `cluster.bootkube-failed`,
 * `wait.timed-out`
 */
async function untilRendered(scope: RenderingScope): Promise<void> {
  const { host, until, signal } = scope;
  const failed = new Map<string, string>();
  const bootkube = followedBootkube(scope);
  const poll = async (): Promise<PollResult<true>> => {
    if ((await host.realPath(blockedControllerConfig, signal)) !== undefined) return { done: true };
    const failure = await rendererStatus(scope, failed);
    return {
      status: bootkube.withFailure(failure ?? `${blockedControllerConfig} does not exist yet`),
    };
  };
  await until('the MachineConfigs are rendered', poll, {
    watch: combineWatches(
      (changed, quiet) => host.watch([blockedControllerConfig, containerLogs], changed, quiet),
      unitWatch(host, [blockUnit.service]),
      bootkube.watch,
    ),
    every: seconds(30),
    within: longestWait,
  });
}

/**
 * The reason of a failed container in its logs. The kubelet restarts the container; a reason that
 * occurs twice recurs for ever.
 * @param failed reason by the name of its log, kept from poll to poll
 */
async function rendererStatus(
  { host, signal }: RenderingScope,
  failed: Map<string, string>,
): Promise<string | undefined> {
  for (const name of (await host.list(containerLogs, signal)).filter(isRendererLog)) {
    const path = await host.realPath(`${containerLogs}/${name}`, signal);
    const log = path === undefined ? undefined : await host.readText(path, signal);
    const reason = log === undefined ? undefined : rendererFailure(log);
    if (reason !== undefined) failed.set(name, reason);
  }
  const reason = [...failed.values()].at(-1);
  if (reason === undefined) return undefined;
  if (failed.size < 2) return `machine-config-controller failed and is restarted: ${reason}`;
  throw layeringFailure('layering.not-rendered', `machine-config-controller failed: ${reason}`);
}

/**
 * Reads the rendered MachineConfigs of the pools. They are written before the awaited file, so that
 * a missing one will never appear.
 * @throws AgentError `layering.not-rendered`, and those of `renderedNameIn` and `osImageIn`
 */
async function readRenderedPools(
  { host, signal }: RenderingScope,
  requests: readonly PoolRequest[],
): Promise<RenderedPool[]> {
  const read = async (path: string) => ({
    path,
    text: await readTextOr({ host, signal }, path, () =>
      layeringFailure('layering.not-rendered', `${path} is missing`),
    ),
  });
  const defaultStream = defaultStreamIn(await readManifestFiles({ host, signal }));
  const rendered: RenderedPool[] = [];
  for (const request of requests) {
    const manifest = await read(poolFile(request.pool));
    const name = renderedNameIn(manifest);
    const file = renderedFile(name);
    const osImage = osImageIn(await read(file));
    let stream = streamIn(manifest);
    // A custom pool is a pool of workers, and has their stream (machine-config-operator,
    // `pkg/controller/render`).
    if (stream === undefined && !operatorPools.includes(request.pool)) {
      const path = poolFile('worker');
      const text = await host.readText(path, signal);
      stream = text === undefined ? undefined : streamIn({ path, text });
    }
    rendered.push({ ...request, rendered: name, file, osImage, stream: stream ?? defaultStream });
  }
  return rendered;
}
