import type { Look } from '../../engine/wait.ts';
import {
  answerArgv,
  secretFiles,
  startAgainArgv,
} from '../../layering/registry/staging-registry.ts';
import { minutes, seconds } from '../../model/duration.ts';
import type { StepScope } from '../step.ts';
import type { StagingRegistry } from './facts.ts';

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
  const look = async (signal: AbortSignal): Promise<Look<true>> => {
    const stranger = await ask(signal);
    if (stranger !== '401') return { status: `it answers ${said(stranger)} without credentials` };
    const known = await ask(signal, secretFiles.curl);
    return known === '200' ? { done: true } : { status: `it answers ${said(known)} to its user` };
  };
  await until(`the registry at ${address} answers`, look, {
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
