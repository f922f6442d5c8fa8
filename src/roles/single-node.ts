import { role } from '../engine/check.ts';
import { checkBootstrapSettings } from '../steps/bootstrap/fetch-ignition.ts';
import { waitForBootkube } from '../steps/cluster/wait-for-bootkube.ts';
import { checkBoot } from '../steps/disk/check-boot.ts';
import { mergeSingleNode } from '../steps/ignition/merge-single-node.ts';
import { checkSingleNode } from '../steps/layering/os-configs.ts';
import { applyBootstrap, startControlPlane } from './bootstrap-phases.ts';
import { clearDisks, leave, preflight, prepareFirstBoot, writeSystem } from './phases.ts';

const [firstOfBootstrap, ...restOfBootstrap] = applyBootstrap;

/** Renders the Ignition of the only node with a temporary control plane on the node itself. */
export const singleNode = role('single-node', {
  title: 'Installs the only node of a cluster',
  ladder: 'single-node',
  steps: [
    ...preflight,
    checkBootstrapSettings,
    ...clearDisks,
    // The service lists Installing before Waiting for bootkube here, and wants the role beside it.
    { ...firstOfBootstrap, stage: 'Installing', stageInfo: ({ role: given }) => given },
    ...restOfBootstrap,
    checkSingleNode,
    ...startControlPlane,
    waitForBootkube,
    mergeSingleNode,
    ...writeSystem,
    ...prepareFirstBoot,
    checkBoot,
    ...leave,
  ],
});
