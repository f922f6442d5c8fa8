import { containerLogs } from '../../cluster/mcs-log.ts';
import type { Look } from '../../engine/wait.ts';
import {
  controllerConfig,
  heldControllerConfig,
  poolFile,
  renderedFile,
} from '../../layering/delivery/bootstrap-files.ts';
import { isRendererLog, rendererFailure } from '../../layering/delivery/bootstrap-log.ts';
import { osImageIn, renderedNameIn } from '../../layering/delivery/rendered.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { longestWait, together } from '../cluster/cluster-wait.ts';
import { unitMonitorArgv, unitWatch } from '../cluster/unit-watch.ts';
import { step, type StepScope } from '../step.ts';
import { buildsOsImages } from './conditions.ts';
import { OsImageOrder, type RenderedConfig, RenderedConfigs } from './facts.ts';
import { layeringStepFailure } from './failures.ts';
import { holdServiceUnit } from './hold-config-server.ts';

/** The kubelet starts a container that failed again; what it fails with twice it fails with for ever. */
const enoughFailures = 2;

/** Waits until the temporary control plane has rendered what the images are built from. */
export const waitForRendered = step({
  id: 'layering/wait-for-rendered',
  title: 'Wait until the MachineConfigs of the pools are rendered',
  uses: ['host'],
  needs: { order: OsImageOrder },
  gives: RenderedConfigs,
  when: buildsOsImages,
  limit: longestWait + minutes(10),
  waitsFor: `${controllerConfig}, which the bootstrap controller writes last`,
  preview: () => [unitMonitorArgv([holdServiceUnit])],
  run: async (scope, { order }) => {
    if (order.kind === 'off') return [];
    const { host, until } = scope;
    const awaited = order.delivery === 'first-boot' ? heldControllerConfig : controllerConfig;
    const failed = new Map<string, string>();
    await until('the MachineConfigs are rendered', () => look(scope, { awaited, failed }), {
      watch: together(
        (changed, quiet) => host.watch([awaited, containerLogs], changed, quiet),
        unitWatch(host, [holdServiceUnit]),
      ),
      every: seconds(30),
      within: longestWait,
    });
    const rendered: RenderedConfig[] = [];
    for (const { pool } of order.pools) rendered.push(await renderedOf(scope, pool));
    return rendered;
  },
});

interface Awaited {
  readonly awaited: string;
  /** Why it failed, by the name of the log that told. */
  readonly failed: Map<string, string>;
}

async function look(scope: StepScope<'host'>, { awaited, failed }: Awaited): Promise<Look<true>> {
  const { host, signal } = scope;
  if ((await host.realPath(awaited, signal)) !== undefined) return { done: true };
  for (const name of (await host.list(containerLogs, signal)).filter(isRendererLog)) {
    const path = await host.realPath(`${containerLogs}/${name}`, signal);
    const log = path === undefined ? undefined : await host.readText(path, signal);
    const reason = log === undefined ? undefined : rendererFailure(log);
    if (reason !== undefined) failed.set(name, reason);
  }
  const reason = [...failed.values()].at(-1);
  if (reason === undefined) return { status: `${awaited} is not there yet` };
  if (failed.size < enoughFailures) {
    return { status: `machine-config-controller failed and is started again: ${reason}` };
  }
  throw layeringStepFailure('layering.not-rendered', `machine-config-controller failed: ${reason}`);
}

/** The pools are written before the file that was waited for, so what is missing now never comes. */
async function renderedOf(
  { host, signal }: StepScope<'host'>,
  pool: string,
): Promise<RenderedConfig> {
  const read = async (path: string): Promise<string> => {
    const text = await host.readText(path, signal);
    if (text !== undefined) return text;
    throw layeringStepFailure('layering.not-rendered', `there is no ${path}`);
  };
  const name = renderedNameIn({ path: poolFile(pool), text: await read(poolFile(pool)) });
  const file = renderedFile(name);
  return { pool, name, file, osImage: osImageIn({ path: file, text: await read(file) }) };
}
