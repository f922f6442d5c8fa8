import { all } from '../../engine/condition.ts';
import type { PollResult } from '../../engine/wait.ts';
import { layeringFailure } from '../../layering/failures.ts';
import {
  answerArgv,
  contentTraceArgv,
  nameTraceArgv,
  removeRegistryArgv,
  stagingFiles,
  stagingPlaces,
  startAgainArgv,
  tracesIn,
  type WrittenRoot,
} from '../../layering/registry/staging-registry.ts';
import { digestOf } from '../../lib/image-name.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { writesDisk, buildsOsImages } from '../conditions.ts';
import { TargetDisk } from '../disk/facts.ts';
import { mountedOn } from '../disk/in-use.ts';
import { readTarget } from '../disk/target.ts';
import { step, type StepScope } from '../step.ts';
import { unlessRequested } from './conditions.ts';
import { BuildRequest, StagingRegistry } from './facts.ts';

/**
 * The one repository of the staging registry. Base and results share it, so that blobs of the base are known there
 * when a result is pushed.
 */
export const stagingRepository = ({ address }: Pick<RunningRegistry, 'address'>): string =>
  `${address}/layering/os`;

/** The base in the staging registry under its own digest; undefined for a name that has none. */
export const stagedBase = (registry: RunningRegistry, base: string): string | undefined => {
  const digest = digestOf(base);
  return digest === undefined ? undefined : `${stagingRepository(registry)}@${digest}`;
};

/** A staging registry that runs. */
export type RunningRegistry = StagingRegistry;

const startsWithin = minutes(2);

/** curl ends with another code than 0 while nobody answers; it prints 000 then. */
const anyCurlExit = [0, 6, 7, 28, 35, 51, 52, 56, 60, 77];

/** Waits until the registry answers those it knows, and nobody else. */
export async function untilRegistryAnswers(
  { until, host }: StepScope<'host'>,
  { address, certificates }: Pick<RunningRegistry, 'address' | 'certificates'>,
): Promise<void> {
  const ask = async (signal: AbortSignal, credentials?: string): Promise<string> => {
    const options = { certificates, ...(credentials === undefined ? {} : { credentials }) };
    const { stdout } = await host.exec(answerArgv(address, options), {
      signal,
      limit: seconds(20),
      accept: anyCurlExit,
    });
    return stdout;
  };
  const poll = async (signal: AbortSignal): Promise<PollResult<true>> => {
    const stranger = await ask(signal);
    if (stranger !== '401')
      return { status: `it answers ${said(stranger)} to a request without credentials` };
    const known = await ask(signal, stagingFiles.curl);
    return known === '200'
      ? { done: true }
      : { status: `it answers ${said(known)} to a request with credentials` };
  };
  await until(`the registry at ${address} answers`, poll, {
    every: seconds(1),
    within: startsWithin,
  });
}

const said = (status: string): string => (status === '000' || status === '' ? 'nothing' : status);

/** Brings the registry back where its container ended meanwhile. */
export async function keepRegistry(
  scope: StepScope<'host'>,
  registry: RunningRegistry,
): Promise<void> {
  const { host, signal } = scope;
  await host.exec(startAgainArgv, { signal, limit: minutes(1) });
  await untilRegistryAnswers(scope, registry);
}

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
  title: 'Stop the staging registry and remove its data from the disk',
  uses: ['host'],
  needs: { request: BuildRequest, registry: StagingRegistry, disk: TargetDisk },
  when: all(writesDisk, buildsOsImages),
  // One that failed to start may have left something too.
  skipIf: unlessRequested,
  destroys: true,
  touches: ['disk:install'],
  limit: minutes(30),
  preview: (_config, { registry }) => {
    // In a plan the fact is a stand-in, whose kind is not known.
    const address = registry.kind === 'release' ? '' : registry.address;
    const written = { root: mount, deployments: ['<deployment>'], address };
    return [
      contentTraceArgv(written),
      nameTraceArgv(written),
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
    await scope.until('the written disk is no longer busy', () => leave(scope), {
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
  const written: WrittenRoot = {
    root: mount,
    deployments: await host.list(deployments, signal),
    address,
  };
  const ask = async (argv: readonly string[]): Promise<string> => {
    const notThere = [0, 1, 2];
    return (await host.exec(argv, { signal, limit: minutes(2), accept: notThere })).stdout;
  };
  const traces = tracesIn(await ask(contentTraceArgv(written)), await ask(nameTraceArgv(written)));
  if (traces.length === 0) return;
  const shown = traces.map((path) => path.replace(mount, ''));
  throw layeringFailure(
    'layering.staging-left',
    `files on the written disk refer to ${address}: ${shown.join(', ')}`,
    { context: { address, found: traces.length } },
  );
}
