import { poolControllers } from '../../src/controllers/pools/controllers.ts';
import type { RunEvent } from '../../src/engine/events.ts';
import type { Clock } from '../../src/ports/clock.ts';
import type { Kube } from '../../src/ports/kube.ts';
import { runControllers } from '../../src/kube/manager.ts';
import { fakeRandom } from './fake-random.ts';

/** Inputs of the controllers of pools. */
interface PoolsRun {
  readonly kube: Kube;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly namespace?: string;
}

/** The end of the controllers. */
interface PoolsEnd {
  readonly failure: unknown;
  readonly events: readonly RunEvent[];
  /** Notes as `level: message`. */
  readonly notes: readonly string[];
}

/**
 * Runs the controller of pools with that name, or all of them, without a lease, until they are
 * stopped.
 */
export async function runPools(
  name: string | undefined,
  { kube, clock, signal, namespace = 'assisted-installer' }: PoolsRun,
): Promise<PoolsEnd> {
  const events: RunEvent[] = [];
  const emit = (body: object): void =>
    void events.push({ ...body, at: clock.now(), run: 'test' } as RunEvent);
  const { controllers, ...all } = poolControllers({ kube, clock, namespace, emit });
  const picked = controllers.filter(
    ({ id }) => name === undefined || id === `node-controller/${name}`,
  );
  const failure = await runControllers(
    { kube, clock, random: fakeRandom(), emit, signal },
    { ...all, controllers: picked },
  ).catch((error: unknown) => error);
  const notes = events.flatMap((event) =>
    event.type === 'note' ? [`${event.level}: ${event.message}`] : [],
  );
  return { failure, events, notes };
}

type Verb = 'get' | 'create' | 'patch' | 'apply' | 'evict' | 'remove';

/**
 * The cluster of a controller that is killed at the answer to one of its requests with these verbs;
 * the first has number 0.
 */
export function killedBy(
  kube: Kube,
  { verbs, last, killed }: { verbs: readonly Verb[]; last: number; killed: AbortController },
): Kube {
  let requests = 0;
  const counted = (verb: Verb): unknown => {
    const request = kube[verb] as (...given: readonly unknown[]) => Promise<unknown>;
    return async (...given: readonly unknown[]) => {
      const answer = await request(...given);
      if (requests === last) killed.abort(new Error('killed'));
      requests += 1;
      return answer;
    };
  };
  return { ...kube, ...Object.fromEntries(verbs.map((verb) => [verb, counted(verb)])) };
}
