import { containerLogs } from '../../cluster/mcs-log.ts';
import type { PollResult } from '../../engine/wait.ts';
import { layeringFailure } from '../../layering/failures.ts';
import {
  controllerConfig,
  blockedControllerConfig,
  formerlyBlocked,
  isRendererLog,
  poolFile,
  renderedFile,
  rendererFailure,
} from '../../layering/manifests/delivery.ts';
import { osImageIn, renderedNameIn } from '../../layering/manifests/served-machine-config.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { longestWait, together } from '../cluster/kube-watch.ts';
import { unitMonitorArgv, unitWatch } from '../host/systemd-unit.ts';
import { bootkubeArgvs, followedBootkube } from '../cluster/wait-for-bootkube.ts';
import { buildsOsImages } from '../conditions.ts';
import { step, type StepScope } from '../step.ts';
import { joinsWithReleaseImage } from './conditions.ts';
import { blockServiceUnit } from './config-server.ts';
import { BuildRequest, type RenderedConfig, RenderedConfigs } from './facts.ts';

/** Waits until the temporary control plane has rendered what the images are built from. */
export const waitForRendered = step({
  id: 'layering/wait-for-rendered',
  title: 'Wait for the MachineConfigs of the pools to be rendered',
  uses: ['host', 'clock'],
  needs: { request: BuildRequest },
  gives: RenderedConfigs,
  knownLate: 'the control plane renders it while the disk is written',
  when: buildsOsImages,
  limit: longestWait + minutes(10),
  waitsFor: `${controllerConfig}, which the bootstrap controller writes last`,
  preview: () => [unitMonitorArgv([blockServiceUnit]), ...bootkubeArgvs],
  run: async (scope, { request }) => {
    if (request.kind === 'off') return [];
    await untilRendered(scope, !joinsWithReleaseImage(request));
    return readRenderedConfigs(
      scope,
      request.pools.map(({ pool }) => pool),
    );
  },
});

type RenderingScope = StepScope<'host' | 'clock'>;

/** The kubelet starts a container that failed again; what it fails with twice it fails with for ever. */
const enoughFailures = 2;

/**
 * Waits for the file that the bootstrap controller writes last, at the place where it is then.
 * @throws AgentError `layering.not-rendered` when the controller fails, `cluster.bootkube-failed`, `wait.timed-out`
 */
async function untilRendered(scope: RenderingScope, isBlocked: boolean): Promise<void> {
  const { host, until } = scope;
  const awaited = isBlocked ? [blockedControllerConfig, formerlyBlocked] : [controllerConfig];
  const failed = new Map<string, string>();
  const bootkube = followedBootkube(scope);
  const pollOnce = async (): Promise<PollResult<true>> => {
    const result = await poll(scope, { awaited, failed });
    return 'status' in result ? { status: bootkube.withFailure(result.status) } : result;
  };
  await until('the MachineConfigs are rendered', pollOnce, {
    watch: together(
      (changed, quiet) => host.watch([...awaited, containerLogs], changed, quiet),
      unitWatch(host, [blockServiceUnit]),
      bootkube.watch,
    ),
    every: seconds(30),
    within: longestWait,
  });
}

interface Awaited {
  /** Any of them; the first is named. */
  readonly awaited: readonly string[];
  /** Why it failed, by the name of the log. */
  readonly failed: Map<string, string>;
}

async function poll(
  scope: RenderingScope,
  { awaited, failed }: Awaited,
): Promise<PollResult<true>> {
  const { host, signal } = scope;
  for (const path of awaited)
    if ((await host.realPath(path, signal)) !== undefined) return { done: true };
  for (const name of (await host.list(containerLogs, signal)).filter(isRendererLog)) {
    const path = await host.realPath(`${containerLogs}/${name}`, signal);
    const log = path === undefined ? undefined : await host.readText(path, signal);
    const reason = log === undefined ? undefined : rendererFailure(log);
    if (reason !== undefined) failed.set(name, reason);
  }
  const reason = [...failed.values()].at(-1);
  if (reason === undefined) return { status: `${awaited[0]} does not exist yet` };
  if (failed.size < enoughFailures) {
    return { status: `machine-config-controller failed and is restarted: ${reason}` };
  }
  throw layeringFailure('layering.not-rendered', `machine-config-controller failed: ${reason}`);
}

/**
 * What was rendered for some pools. The pools are written before the file that was waited for, so what is missing
 * now never comes.
 * @throws AgentError `layering.not-rendered`, and as `renderedNameIn` and `osImageIn`
 */
async function readRenderedConfigs(
  { host, signal }: RenderingScope,
  pools: readonly string[],
): Promise<RenderedConfig[]> {
  const read = async (path: string): Promise<string> => {
    const text = await host.readText(path, signal);
    if (text !== undefined) return text;
    throw layeringFailure('layering.not-rendered', `${path} is missing`);
  };
  const rendered: RenderedConfig[] = [];
  for (const pool of pools) {
    const name = renderedNameIn({ path: poolFile(pool), text: await read(poolFile(pool)) });
    const file = renderedFile(name);
    const osImage = osImageIn({ path: file, text: await read(file) });
    rendered.push({ pool, name, file, osImage });
  }
  return rendered;
}
