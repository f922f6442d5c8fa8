import type { Config } from '../config/schema.ts';
import { role } from '../engine/check.ts';
import { condition } from '../engine/condition.ts';
import { lanes } from '../engine/role.ts';
import * as afterPivot from '../steps/after-pivot/leave-job.ts';
import * as bootstrap from '../steps/bootstrap/index.ts';
import * as cluster from '../steps/cluster/index.ts';
import * as disk from '../steps/disk/index.ts';
import * as finish from '../steps/finish/index.ts';
import * as ignition from '../steps/ignition/index.ts';
import * as layering from '../steps/layering/index.ts';
import {
  buildOwnImage,
  goLive,
  handOver,
  lookFirst,
  makeBootable,
  makeRoom,
  startControlPlane,
  writeSystem,
} from './parts.ts';

const inTurn = condition<Config>(
  'the lanes are to run in turn',
  (config) => config.bootstrap.lanes === 'in-turn',
);

/** Starts a temporary control plane, waits for two masters to take over, then becomes the third. */
export const bootstrapHost = role('bootstrap', {
  title: 'Starts a temporary control plane, waits for two masters, then becomes the third',
  ladder: 'bootstrap',
  steps: [
    ...lookFirst,
    bootstrap.check,
    ...makeRoom,
    ...goLive,
    layering.addDefaultOsConfigs,
    layering.readOsConfigs,
    layering.setAsideOsConfigs,
    layering.nameRepositories,
    layering.blockConfigServer,
    lanes(
      {
        'control plane': startControlPlane,
        disk: [ignition.fetchHost, ...writeSystem, ...makeBootable, ...buildOwnImage],
        cluster: [
          cluster.waitForMasters,
          cluster.waitForArbiter,
          cluster.patchEtcd,
          cluster.waitForBootkube,
          cluster.waitForEtcd,
          cluster.waitForController,
        ],
      },
      { inTurn },
    ),
    cluster.waitForWorkers,
    cluster.waitForMachineConfigs,
    cluster.waitForEtcdHandover,
    layering.createHandOverJob,
    layering.handOverToRollOut,
    layering.waitForLayeredMasters,
    layering.checkServedConfig,
    layering.gatherLogs,
    layering.stopRegistry,
    finish.decideDelayAfterHandover,
    afterPivot.createFollowUpJob,
    disk.checkBoot,
    ...handOver,
    finish.leaveHost,
  ],
  follow: [cluster.followHosts, cluster.followControllerLogs],
  always: [layering.gatherLogsAtTheEnd],
});
