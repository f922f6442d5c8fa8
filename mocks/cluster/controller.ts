// What the controller in the cluster tells the inventory service, as a pure function.
import type { HostRecord } from '../inventory/records.ts';
import type { HostPhase } from './cluster-state.ts';

/** A report that the controller makes. */
export interface ControllerReport {
  readonly hostId: string;
  readonly stage: 'Configuring' | 'Joined' | 'Done';
}

/** What the controller sees of a host. */
export interface SeenHost {
  readonly host: Pick<HostRecord, 'id' | 'stage' | 'status'>;
  readonly phase: HostPhase;
  /** It asked a master for its Ignition, which is in the log of a pod. */
  readonly hasAsked: boolean;
}

/** The reports of one look (assisted-installer-controller, node status loop): Joined, Done, then Configuring. */
export function reportsOf(seen: readonly SeenHost[]): readonly ControllerReport[] {
  const open = seen.filter(({ host }) => host.status !== 'installed' && host.status !== 'error');
  return open.flatMap(({ host, phase, hasAsked }) => {
    const hasNode = phase === 'joining' || phase === 'ready';
    const stages: ControllerReport['stage'][] = [];
    if (!hasNode && hasAsked && !['Configuring', 'Joined', 'Done'].includes(host.stage)) {
      stages.push('Configuring');
    }
    if (hasNode && ['Configuring', 'Rebooting'].includes(host.stage)) stages.push('Joined');
    if (phase === 'ready') stages.push('Done');
    return stages.map((stage) => ({ hostId: host.id, stage }));
  });
}
