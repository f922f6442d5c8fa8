import { role } from '../engine/check.ts';
import { keepNode } from '../steps/node-agent/keep-node.ts';
import type { NodeAgentWorld } from '../steps/node-agent/world.ts';

/** Keeps a node of a cluster at the image and configuration that its pool desires, until it is stopped. */
export const nodeAgent = role<NodeAgentWorld>('node-agent', {
  title: 'Keeps a node at the image and configuration of its pool',
  ladder: 'worker',
  steps: [keepNode],
});
