import type { Note } from '../../engine/events.ts';
import type { ManagerMetrics } from '../../ports/manager-metrics.ts';
import type { Ports } from '../../ports/ports.ts';
import type { CheckResult } from '../conditions.ts';
import type { GuestSeen } from './guest-hosts.ts';
import type { Guest } from './guest.ts';
import type { InputsVerdict } from './inputs.ts';
import type { UsableTemplate } from './template.ts';
import type { UpgradeVerdict } from './upgrade.ts';
import type { ControlPlaneView } from './view.ts';

/** What the provider works with. */
export interface ControlPlaneScope extends Pick<Ports, 'kube' | 'clock'> {
  readonly note: Note;
  /** The image of this program, for the Jobs of the installer. */
  readonly ownImage?: string | undefined;
  readonly metrics?: Pick<ManagerMetrics, 'installerEnded'> | undefined;
}

/** A control plane in one pass, with all that is decided on. */
export interface Pass extends ControlPlaneScope {
  readonly view: ControlPlaneView;
  /** Undefined while no Machine is to be made, or nothing can be made of it. */
  readonly template: UsableTemplate | undefined;
  readonly templateCheck: CheckResult;
  /** Undefined while no files are to be made. */
  readonly inputs: InputsVerdict | undefined;
  /** The cluster that is installed, and what it shows; undefined while it does not answer. */
  readonly followed: Guest | undefined;
  readonly guest: GuestSeen | undefined;
  readonly upgrade: UpgradeVerdict;
  /** Whether Jobs of the installer are there. */
  readonly hasJobs: boolean;
}
