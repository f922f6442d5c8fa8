import type { KubeObject } from '../../ports/kube.ts';
import { layeringFailure } from '../failures.ts';
import type { SourceObject } from './source-object.ts';
import { annotationOf, partOf, textAt } from '../../kube/object.ts';
import { type Fields, fieldsOf, isFields, listOf, textOf } from '../../lib/fields.ts';

const referenceFields = [
  ...(['apiVersion', 'fieldPath', 'kind', 'name', 'namespace'] as const),
  ...(['resourceVersion', 'uid'] as const),
] as const;

/** A reference to an object in a pool; fields that are not set are empty. */
export type PoolReference = Readonly<Record<(typeof referenceFields)[number], string>>;

/** What layering needs of a MachineConfigPool. */
export interface MachineConfigPool {
  readonly name: string;
  /** The rendered MachineConfig, and what it was rendered from. */
  readonly configuration: PoolReference & { readonly source: readonly PoolReference[] };
}

/**
 * Name of the MachineConfig that the cluster has rendered for a pool; empty where it has none, or
 * there is no pool.
 */
export const renderedNameOf = (pool: KubeObject | undefined): string =>
  textAt(pool, 'spec', 'configuration', 'name');

/**
 * Annotations of a MachineConfigPool that this program has paused, by what for; the value of each
 * says since when. A pool that is paused without any of them was paused by a person.
 */
const pauseKeys = {
  handOver: 'bootwright.io/paused-for-hand-over',
  labels: 'bootwright.io/paused-for-labels',
} as const;

/** What this program pauses a pool for. */
export type PausePurpose = keyof typeof pauseKeys;

/** Since when we pause a pool for something, as the pause says itself; empty where we do not. */
export const pausedSince = (pool: KubeObject | undefined, purpose: PausePurpose): string =>
  annotationOf(pool, pauseKeys[purpose]);

/** Whether the nodes of a pool are left alone, whoever wants it. */
export const isPaused = (pool: KubeObject | undefined): boolean =>
  partOf(pool, 'spec', 'paused') === true;

/** Members of a pool that make up a pause. */
export interface PauseChange {
  readonly metadata: { readonly annotations: Readonly<Record<string, string | null>> };
  readonly spec: { readonly paused: boolean };
}

const pauseChange = (
  purpose: PausePurpose,
  since: string | null,
  paused: boolean,
): PauseChange => ({
  metadata: { annotations: { [pauseKeys[purpose]]: since } },
  spec: { paused },
});

const isPausedForOthers = (pool: KubeObject, purpose: PausePurpose): boolean =>
  Object.entries(pauseKeys).some(
    ([other, key]) => other !== purpose && annotationOf(pool, key) !== '',
  );

/** What pauses a pool for us; undefined where we have paused it, or a person has. */
export function beginPause(
  pool: KubeObject,
  purpose: PausePurpose,
  now: string,
): PauseChange | undefined {
  if (!isPaused(pool)) return pauseChange(purpose, now, true);
  const isOurs = pausedSince(pool, purpose) !== '';
  return isOurs || !isPausedForOthers(pool, purpose) ? undefined : pauseChange(purpose, now, true);
}

/**
 * What ends our pause of a pool; undefined if absent, or one that did not begin then. A pool that
 * is paused for something else too stays paused.
 */
export function endPause(
  pool: KubeObject,
  purpose: PausePurpose,
  since: string,
): PauseChange | undefined {
  if (since === '' || pausedSince(pool, purpose) !== since) return undefined;
  return pauseChange(purpose, null, isPaused(pool) && isPausedForOthers(pool, purpose));
}

/**
 * Reads a MachineConfigPool.
 * @throws AgentError `layering.wrong-object` when it is not one, or has no rendered MachineConfig
 * yet
 */
export function readMachineConfigPool(source: SourceObject): MachineConfigPool {
  const { value, place } = source;
  const name = fieldsOf(value['metadata'])['name'];
  const spec = fieldsOf(value['spec']);
  const configuration = spec['configuration'];
  if (value['kind'] !== 'MachineConfigPool' || typeof name !== 'string') {
    throw wrong(`${place(['kind'])}: a MachineConfigPool with a name is expected`);
  }
  if (!isFields(configuration) || referenceOf(configuration).name === '') {
    throw wrong(
      `${place(['spec', 'configuration', 'name'])}: pool ${name} has no rendered MachineConfig yet`,
    );
  }
  return {
    name,
    configuration: {
      ...referenceOf(configuration),
      source: listOf(configuration['source']).map((entry) => referenceOf(fieldsOf(entry))),
    },
  };
}

const referenceOf = (value: Fields): PoolReference =>
  Object.fromEntries(
    referenceFields.map((name) => [name, textOf(value[name])]),
  ) as unknown as PoolReference;

const wrong = (message: string): Error => layeringFailure('layering.wrong-object', message);
