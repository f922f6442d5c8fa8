import type { Config } from '../../config/schema.ts';
import { condition, not } from '../../engine/condition.ts';

/** One control-plane node: this host bootstraps its own cluster and becomes its only node. */
export const isSingleNode = condition<Config>(
  'the cluster has a single control-plane node',
  ({ cluster }) => cluster.controlPlaneCount === 1,
);

/** The bootstrap host brings other masters up; an unknown number counts as several. */
export const isMultiNode = not(isSingleNode, 'the cluster has several control-plane nodes');
