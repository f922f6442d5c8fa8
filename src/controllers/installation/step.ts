import type { Config } from '../../config/schema.ts';
import { type Scope, stepsOf } from '../../engine/step.ts';
import type { Watch } from '../../engine/wait.ts';
import type { InstallationView, Inventory } from '../../ports/inventory.ts';
import type { Kube } from '../../ports/kube.ts';
import type { Emit } from '../../reconcile/manager.ts';
import type { Ports } from '../../ports/ports.ts';

/** The settings of the controller: those of an installation that its environment names, and its own. */
export interface ControllerConfig extends Config {
  /** Its own namespace. */
  readonly namespace: string;
  /** A copy of its log; `/tmp/controller_logs.log` unless given. */
  readonly logFile?: string;
}

/** All that the controller can reach: it is a pod in the new cluster, with a few files of its node. */
export interface ControllerPorts extends Pick<
  Ports,
  'kube' | 'inventory' | 'host' | 'web' | 'clock' | 'random'
> {
  /**
   * The same cluster with the rights of its administrator: the kubeconfig that the service keeps, looked for with the
   * first call. For what a user brings, and for pods that do what `oc debug` and `oc adm must-gather` do: no role of
   * ours can name that.
   */
  readonly adminKube: Kube;
  /** Events of the controllers that run beside the steps. */
  readonly emit: Emit;
}

/** What the steps of the controller work on. */
export interface ControllerWorld {
  readonly config: ControllerConfig;
  readonly ports: ControllerPorts;
}

/** Defines a step of the controller. */
export const controllerStep = stepsOf<ControllerWorld>();

/** What a step of the controller has at hand. */
export type ControllerScope<Uses extends keyof ControllerPorts> = Scope<ControllerWorld, Uses>;

/** The cluster as the service has it, for a wait: its latest view, and a watch that notifies after each answer. */
export interface FollowedInstallation {
  readonly view: () => InstallationView;
  readonly watch: Watch;
}

/** Follows the cluster at the service for a wait. */
export function followedInstallation(inventory: Pick<Inventory, 'follow'>): FollowedInstallation {
  let latest: InstallationView = {};
  return {
    view: () => latest,
    watch: (changed, signal) =>
      inventory.follow((view) => {
        latest = view;
        changed();
      }, signal),
  };
}
