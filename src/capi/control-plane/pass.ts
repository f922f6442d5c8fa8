import type { Note } from '../../engine/events.ts';
import type { ManagerMetrics } from '../../ports/manager-metrics.ts';
import type { KubeObject } from '../../ports/kube.ts';
import type { Ports } from '../../ports/ports.ts';
import type { CheckResult } from '../conditions.ts';
import type { GuestView } from './guest-hosts.ts';
import type { InputsVerdict } from './inputs.ts';
import type { UsableTemplate } from './template.ts';
import type { UpgradeVerdict } from './upgrade.ts';
import type { ControlPlaneView } from './view.ts';

/** Ports and stores of the provider. */
export interface ControlPlaneScope extends Pick<Ports, 'kube' | 'clock'> {
  readonly note: Note;
  /** Pull spec of this program, for the Jobs of the installer. */
  readonly ownImage?: string | undefined;
  readonly metrics?: Pick<ManagerMetrics, 'installerEnded'> | undefined;
}

/** The inputs of one pass over a control plane. */
export interface Pass extends ControlPlaneScope {
  readonly view: ControlPlaneView;
  /** Undefined while no Machine is due, or if the template cannot be used. */
  readonly template: UsableTemplate | undefined;
  readonly templateCheck: CheckResult;
  /** Undefined while no files are due. */
  readonly inputs: InputsVerdict | undefined;
  /** The installed cluster; undefined while it does not answer. */
  readonly guest: GuestView | undefined;
  /** The reason why it does not answer, if it is followed. */
  readonly guestGap: string | undefined;
  readonly upgrade: UpgradeVerdict;
  /** MachineHealthChecks in the namespace of the control plane. */
  readonly healthChecks: readonly KubeObject[];
  /** Whether Jobs of the installer exist. */
  readonly hasJobs: boolean;
}
