import { setTimeout as pause } from 'node:timers/promises';
import type { Millis } from '../../model/duration.ts';
import { spawnInGroup, type SpawnOptions } from './spawn.ts';

/** What is run beside the work, and for how long at most. */
export interface BriefCommand extends Pick<SpawnOptions, 'argv' | 'env'> {
  readonly input?: string;
  readonly limit: Millis;
}

/**
 * Runs a program that keeps our own process from nothing; resolves with its exit code, undefined
 * where it has none.
 */
export async function runBriefly({
  input,
  limit,
  ...how
}: BriefCommand): Promise<number | undefined> {
  const running = spawnInGroup({ ...how, hasInput: input !== undefined });
  running.unref();
  const ended = new AbortController();
  const late = pause(limit, undefined, { signal: ended.signal, ref: false }).then(
    () => running.stop(),
    () => undefined,
  );
  running.stdin?.end(input);
  const { exitCode } = await running.ended;
  ended.abort();
  await late;
  return exitCode;
}
