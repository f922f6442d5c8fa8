import { digestOf } from '../../lib/image-name.ts';
import type { RunningRegistry } from './registry-health.ts';

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
