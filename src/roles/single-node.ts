import { role } from '../engine/role.ts';
import { checkBootstrapSettings, fetchIgnition } from '../steps/bootstrap/fetch-ignition.ts';
import { waitForBootkube } from '../steps/cluster/wait-for-bootkube.ts';
import { mergeSingleNodeIgnition } from '../steps/ignition/merge-single-node.ts';
import { checkSingleNode } from '../steps/layering/os-configs.ts';
import { applyBootstrap, startControlPlane } from './bootstrap.ts';
import { begin, leave, preflight, prepareFirstBoot, writeSystem } from './phases.ts';

/** Renders the Ignition of the only node with a temporary control plane on the node itself. */
export const singleNode = role('single-node', {
  title: 'Installs the only node of a cluster',
  ladder: 'single-node',
  steps: [
    ...preflight,
    checkBootstrapSettings,
    ...begin,
    // The service lists Installing before Waiting for bootkube here, and expects the role in the
    // text.
    { ...fetchIgnition, stage: 'Installing', stageInfo: ({ role: given }) => given },
    ...applyBootstrap,
    checkSingleNode,
    ...startControlPlane,
    waitForBootkube,
    mergeSingleNodeIgnition,
    ...writeSystem,
    ...prepareFirstBoot,
    ...leave,
  ],
});
