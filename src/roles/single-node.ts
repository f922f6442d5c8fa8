import { role } from '../engine/check.ts';
import * as bootstrap from '../steps/bootstrap/index.ts';
import * as cluster from '../steps/cluster/index.ts';
import * as disk from '../steps/disk/index.ts';
import * as ignition from '../steps/ignition/index.ts';
import * as layering from '../steps/layering/index.ts';
import {
  goLive,
  leave,
  lookFirst,
  makeRoom,
  prepareFirstBoot,
  startControlPlane,
  writeSystem,
} from './parts.ts';

const [firstOfBootstrap, ...restOfBootstrap] = goLive;

/** Renders the Ignition of the only node with a temporary control plane on the node itself. */
export const singleNode = role('single-node', {
  title: 'Installs the only node of a cluster',
  ladder: 'single-node',
  steps: [
    ...lookFirst,
    bootstrap.check,
    ...makeRoom,
    // The service lists Installing before Waiting for bootkube here, and wants the role beside it.
    { ...firstOfBootstrap, stage: 'Installing', stageInfo: ({ role: given }) => given },
    ...restOfBootstrap,
    layering.checkSingleNode,
    ...startControlPlane,
    cluster.waitForBootkube,
    ignition.mergeSingleNode,
    ...writeSystem,
    ...prepareFirstBoot,
    disk.checkBoot,
    ...leave,
  ],
});
