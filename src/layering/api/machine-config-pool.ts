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

/** Name and configuration of a MachineConfigPool. */
export interface MachineConfigPool {
  readonly name: string;
  /** Reference to the rendered MachineConfig, and to its sources. */
  readonly configuration: PoolReference & { readonly source: readonly PoolReference[] };
}

/**
 * Name of the rendered MachineConfig of a pool; empty without a rendered one, or without a pool.
 */
export const renderedNameOf = (pool: KubeObject | undefined): string =>
  textAt(pool, 'spec', 'configuration', 'name');

/**
 * Annotations with which Bootwright marks its pauses of a MachineConfigPool, by purpose; the value
 * is the start of the pause. A paused pool without any of them was paused by a person.
 */
const pauseKeys = {
  handOver: 'bootwright.io/paused-for-hand-over',
  labels: 'bootwright.io/paused-for-labels',
} as const;

/** Purpose of a pause by Bootwright. */
export type PausePurpose = keyof typeof pauseKeys;

/** Start of our pause of a pool for a purpose, from its annotation; empty without such a pause. */
export const pausedSince = (pool: KubeObject | undefined, purpose: PausePurpose): string =>
  annotationOf(pool, pauseKeys[purpose]);

/** Whether a pool is paused, by Bootwright or by a person. */
export const isPaused = (pool: KubeObject | undefined): boolean =>
  partOf(pool, 'spec', 'paused') === true;

/** Fields of a pool that change with a pause. */
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

/** The change that pauses a pool for us; undefined where we or a person have paused it already. */
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
 * The change that ends our pause of a pool; undefined without a pause that began at `since`. A pool
 * that is paused for another purpose too stays paused.
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
 * @throws AgentError `layering.wrong-object` for another object, or for a pool without a rendered
 * MachineConfig
 */
export function readMachineConfigPool(source: SourceObject): MachineConfigPool {
  const { value, place } = source;
  const name = fieldsOf(value['metadata'])['name'];
  const spec = fieldsOf(value['spec']);
  const configuration = spec['configuration'];
  if (value['kind'] !== 'MachineConfigPool' || typeof name !== 'string') {
    throw wrongObject(`${place(['kind'])}: a MachineConfigPool with a name is expected`);
  }
  if (!isFields(configuration) || referenceOf(configuration).name === '') {
    throw wrongObject(
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

const wrongObject = (message: string): Error => layeringFailure('layering.wrong-object', message);
