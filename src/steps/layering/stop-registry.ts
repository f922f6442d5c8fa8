import { all } from '../../engine/condition.ts';
import {
  contentTraceArgv,
  nameTraceArgv,
  removeRegistryArgv,
  stagingPlaces,
  tracesIn,
  type WrittenRoot,
} from '../../layering/registry/staging-registry.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { writesDisk } from '../conditions.ts';
import { readTarget } from '../disk/block-devices.ts';
import { mountedOn } from '../disk/in-use.ts';
import { TargetDisk } from '../disk/facts.ts';
import { step, type StepScope } from '../step.ts';
import { buildsOsImages } from './conditions.ts';
import { OsImageOrder, StagingRegistry } from './facts.ts';
import { layeringStepFailure } from './failures.ts';
import { unlessOrdered } from './skips.ts';

const { mount, work } = stagingPlaces();
const deployments = `${mount}/ostree/deploy/rhcos/deploy`;

/** Folders of overlays that a killed build left mounted are below the work; the deepest go first. */
const unmountWorkArgv = ['umount', '--recursive', '--quiet', `${work}/storage/overlay`] as const;
const clearArgv = ['rm', '--recursive', '--force', '--one-file-system', work] as const;
const flushArgv = ['sync', '--file-system', mount] as const;
const unmountArgv = ['umount', mount] as const;

/**
 * Ends the registry and takes what was built off the written disk, which boots with nothing of it. It comes right
 * before the host leaves, and refuses to go on where the disk would ask for the registry later.
 */
export const stopRegistry = step({
  id: 'layering/stop-registry',
  title: 'Stop the registry and clear its data off the disk',
  uses: ['host'],
  needs: { order: OsImageOrder, registry: StagingRegistry, disk: TargetDisk },
  when: all(writesDisk, buildsOsImages),
  // One that failed to start may have left something too.
  skipIf: unlessOrdered,
  destroys: true,
  touches: ['disk:install'],
  limit: minutes(30),
  preview: (_config, { registry }) => {
    // In a plan the fact is a stand-in, whose kind is not known.
    const address = registry.kind === 'stock' ? '' : registry.address;
    const look = { root: mount, deployments: ['<deployment>'], address };
    return [
      contentTraceArgv(look),
      nameTraceArgv(look),
      removeRegistryArgv,
      unmountWorkArgv,
      clearArgv,
      flushArgv,
      unmountArgv,
    ];
  },
  run: async (scope, { registry, disk }) => {
    const { host, signal } = scope;
    const isMounted = mountedOn(await readTarget(host, disk, signal), [mount]).length > 0;
    if (isMounted && registry.kind === 'running') await refuseTraces(scope, registry.address);
    await host.exec(removeRegistryArgv, { signal, limit: minutes(2) });
    // After an earlier run that came this far there is nothing left to be cleared.
    if (!isMounted) return;
    const nothingThere = [0, 1, 32];
    await host.exec(unmountWorkArgv, { signal, limit: minutes(2), accept: nothingThere });
    await host.exec(clearArgv, { signal, limit: minutes(10) });
    await host.exec(flushArgv, { signal, limit: minutes(10) });
    await scope.until('the written disk is free', () => leave(scope), {
      every: seconds(2),
      within: minutes(1),
    });
  },
});

async function leave({ host, signal }: StepScope<'host'>) {
  const busy = 32;
  const accept = [0, busy];
  const { exitCode, stderr } = await host.exec(unmountArgv, {
    signal,
    limit: minutes(5),
    accept,
  });
  return exitCode === 0 ? { done: true } : { status: stderr };
}

/** @throws AgentError `layering.staging-left` */
async function refuseTraces(scope: StepScope<'host'>, address: string): Promise<void> {
  const { host, signal } = scope;
  const look: WrittenRoot = {
    root: mount,
    deployments: await host.list(deployments, signal),
    address,
  };
  const ask = async (argv: readonly string[]): Promise<string> => {
    const notThere = [0, 1, 2];
    return (await host.exec(argv, { signal, limit: minutes(2), accept: notThere })).stdout;
  };
  const traces = tracesIn(await ask(contentTraceArgv(look)), await ask(nameTraceArgv(look)));
  if (traces.length === 0) return;
  const shown = traces.map((path) => path.replace(mount, ''));
  throw layeringStepFailure(
    'layering.staging-left',
    `${address} is spoken of on the written disk: ${shown.join(', ')}`,
    { context: { address, found: traces.length } },
  );
}
