import { unlimited } from '../../model/duration.ts';
import { type Emit, notesOf } from '../../engine/events.ts';
import { type Controller, startControllers } from '../../kube/manager.ts';
import { requestControllers } from './approve-requests.ts';
import { metalController } from './bare-metal-hosts.ts';
import { labelController, pauseController } from './labels.ts';
import { leftController, unpauseController } from './left-work.ts';
import { NewCluster } from './new-cluster.ts';
import { reportControllers, taintController } from './reports.ts';
import { controllerStep } from './step.ts';
import { type InstallationScope, installationStores } from './stores.ts';

/**
 * What is kept at its desired state until the installation has ended; without a service only what
 * the bootstrap host has left.
 */
export function installationControllers(
  { emit, ...ports }: Omit<InstallationScope, 'note'> & { readonly emit: Emit },
  cluster: NewCluster,
): readonly Controller[] {
  const scopeOf = (name: string): InstallationScope => ({
    ...ports,
    note: notesOf(emit, `controller/${name}`),
  });
  const stores = installationStores(scopeOf('reconcile'));
  const { platform, isAgentBased } = cluster;
  const { config } = ports;
  const isWithService = !config.service.url.isEmpty;
  const when = (isWanted: boolean, make: () => readonly Controller[]): readonly Controller[] =>
    isWanted ? make() : [];
  return [
    ...requestControllers(scopeOf('approve-requests'), stores, cluster),
    leftController(scopeOf('do-left-work')),
    unpauseController(scopeOf('unpause-pools')),
    ...when(isWithService, () => [
      ...reportControllers(scopeOf('report-nodes'), stores),
      labelController(scopeOf('label-nodes'), stores),
      pauseController(scopeOf('label-nodes'), stores),
    ]),
    // The only node of an agent-based installation has its service no more.
    ...when(isWithService && !(isAgentBased && config.cluster.controlPlaneCount <= 1), () => [
      taintController(scopeOf('remove-cloud-taint'), stores, cluster),
    ]),
    ...when(isWithService && platform === 'baremetal', () => [
      metalController(scopeOf('register-bare-metal-hosts')),
    ]),
  ];
}

/** Runs the controllers of an installation as long as its role runs. */
export const reconcileInstallation = controllerStep({
  id: 'controller/reconcile',
  title: 'Reconcile the nodes, hosts, requests and pools of the new cluster',
  uses: ['inventory', 'kube', 'adminKube', 'clock', 'random', 'emit'],
  needs: { cluster: NewCluster },
  limit: unlimited,
  run: async (scope, { cluster }) => {
    if (scope.config.controller.notifyNumReboots)
      scope.note(
        'warn',
        'this controller does not count reboots: NOTIFY_NUM_REBOOTS has no effect',
      );
    const controllers = installationControllers(scope, cluster);
    await startControllers(scope, { name: 'controller', controllers });
  },
});
