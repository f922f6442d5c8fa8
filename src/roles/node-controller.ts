import { role } from '../engine/check.ts';
import { buildPoolImages } from '../steps/node-controller/build-images.ts';
import { drainNodes } from '../steps/node-controller/drain-nodes.ts';
import { findOwners } from '../steps/node-controller/find-owners.ts';
import { renderConfigs } from '../steps/node-controller/render-configs.ts';
import { rollOut } from '../steps/node-controller/roll-out.ts';
import { writeStatus } from '../steps/node-controller/write-status.ts';
import type { NodeControllerWorld } from '../steps/node-controller/world.ts';

/** Rolls out configurations and images to the nodes of pools that the cluster's own operator does not run. */
export const nodeController = role<NodeControllerWorld>('node-controller', {
  title: 'Rolls out configurations and images to the nodes of pools',
  ladder: 'bootstrap',
  // It has no end: the first step goes on as long as the program runs.
  steps: [findOwners],
  follow: [renderConfigs, buildPoolImages, rollOut, drainNodes, writeStatus],
});
