import type { Config } from '../config/schema.ts';
import { role } from '../engine/check.ts';
import { condition } from '../engine/condition.ts';
import { lanes } from '../engine/role.ts';
import { checkBootstrapSettings, fetchIgnition } from '../steps/bootstrap/fetch-ignition.ts';
import { followControllerLogs } from '../steps/cluster/controller.ts';
import { followHosts } from '../steps/cluster/follow-hosts.ts';
import { leaveRecordAlone } from '../steps/cluster/leave-record.ts';
import { reportArbiters, reportMasters } from '../steps/cluster/report-joined.ts';
import { waitForEtcdHandover } from '../steps/cluster/wait-for-etcd.ts';
import { waitForMachineConfigs } from '../steps/cluster/wait-for-machine-configs.ts';
import { waitForWorkers } from '../steps/cluster/wait-for-workers.ts';
import { checkBoot } from '../steps/disk/check-boot.ts';
import { decideRebootDelayAfterHandover } from '../steps/finish/finish.ts';
import { confirmInstallation } from '../steps/host/confirm-installation.ts';
import { fetchHost } from '../steps/ignition/fetch-host.ts';
import { gatherLogsAtTheEnd } from '../steps/layering/gather-logs.ts';
import { unpausePools } from '../steps/layering/pool-pause.ts';
import { applyBootstrap, startControlPlane, waitForCluster } from './bootstrap-phases.ts';
import { buildLayeredImages, finishLayering, readLayering } from './layering-phases.ts';
import { keepAndReboot, makeBootable, preflight, sendLogs, writeSystem } from './phases.ts';

const inTurn = condition<Config>(
  'the lanes are to run in turn',
  (config) => config.bootstrap.lanes === 'in-turn',
);

/** Starts a temporary control plane, waits for two masters to take over, then becomes the third. */
export const bootstrapHost = role('bootstrap', {
  title: 'Starts a temporary control plane, waits for two masters, then becomes the third',
  ladder: 'bootstrap',
  steps: [
    ...preflight,
    checkBootstrapSettings,
    confirmInstallation,
    fetchIgnition,
    fetchHost,
    ...applyBootstrap,
    ...readLayering,
    lanes(
      {
        'control plane': startControlPlane,
        disk: [...writeSystem, ...makeBootable, ...buildLayeredImages],
        cluster: waitForCluster,
      },
      { inTurn },
    ),
    waitForWorkers,
    waitForMachineConfigs,
    waitForEtcdHandover,
    ...finishLayering,
    decideRebootDelayAfterHandover,
    leaveRecordAlone,
    checkBoot,
    ...sendLogs,
    ...keepAndReboot,
  ],
  follow: [followHosts, reportMasters, reportArbiters, followControllerLogs],
  always: [unpausePools, gatherLogsAtTheEnd],
});
