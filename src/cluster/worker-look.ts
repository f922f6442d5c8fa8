import type { Stage } from '../model/stage.ts';
import type { InventoryHost } from '../ports/inventory.ts';

/** Stages of a worker that its agent has left behind: nothing of the host needs the service now. */
const left: ReadonlySet<string> = new Set<Stage>([
  'Rebooting',
  'Waiting for ignition',
  'Configuring',
  'Joined',
  'Done',
]);

/** Statuses and a stage of hosts on which nothing is under way any more. */
const ended: ReadonlySet<string> = new Set([
  'error',
  'cancelled',
  'disabled',
  'installed',
  'added-to-existing-cluster',
]);

/** What a look at the workers showed. */
export interface WorkerLook {
  readonly isDone: boolean;
  /** For people: `1 of 2 workers left their host; w2 is Installing`. */
  readonly status: string;
}

/**
 * Decides whether every worker is past the need of the service, which goes away with this host when
 * the agent-based installer put it here. One that still writes is not, nor one without a stage; one
 * that was given up is, since nothing more comes from it.
 */
export function lookAtWorkers(workers: readonly InventoryHost[]): WorkerLook {
  const waiting = workers.filter(
    ({ stage = '', status }) => !left.has(stage) && stage !== 'Failed' && !ended.has(status),
  );
  const others = waiting
    .map(({ name, id, stage, status }) => `${name === '' ? id : name} is ${stage ?? status}`)
    .sort();
  return {
    isDone: waiting.length === 0,
    status: [
      `${workers.length - waiting.length} of ${workers.length} workers left their host`,
      ...others,
    ].join('; '),
  };
}
