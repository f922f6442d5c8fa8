import { asAgentError } from '../../engine/failures.ts';
import { type Millis, seconds } from '../../model/duration.ts';
import type { Stage } from '../../model/stage.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import type { StepScope } from '../step.ts';
import type { Tasks } from './tasks.ts';

/** A report that failed is sent again after this time. */
const reportAgainAfter: Millis = seconds(5);

/** What became of a report: `refused` is an answer too (409). */
export type ReportEnd = 'accepted' | 'refused' | { readonly failed: string };

/** Reports of stages of other hosts, each sent beside the wait so that none holds back another. */
export interface HostReports {
  /** What became of the report of a host; undefined while the first is under way, or before it. */
  readonly endOf: (host: InventoryHost) => ReportEnd | undefined;
  /** Reports the stage of a host, unless that was tried a short time ago. */
  readonly send: (host: InventoryHost, stage: Stage) => void;
}

/** Makes the reports of one wait. */
export function hostReportsOf(
  { inventory, note }: StepScope<'inventory'>,
  tasks: Tasks,
): HostReports {
  const ends = new Map<string, ReportEnd>();
  return {
    endOf: ({ id }) => ends.get(id),
    send: (host, stage) => {
      tasks.run(`report ${host.id}`, reportAgainAfter, async (signal) => {
        const { infraEnvId, id: hostId } = host;
        const name = host.name === '' ? hostId : host.name;
        try {
          await inventory.report({ infraEnvId, hostId }, { stage, info: '' }, signal);
          ends.set(host.id, 'accepted');
          note('info', `${name} is ${stage}`, { host: hostId, stage });
        } catch (error) {
          signal.throwIfAborted();
          const { code, message } = asAgentError(error);
          const end = code === 'inventory.refused' ? 'refused' : { failed: code };
          if (!isSame(ends.get(host.id), end)) {
            note('warn', `${stage} of ${name} is not reported`, { code, reason: message });
          }
          ends.set(host.id, end);
        }
      });
    },
  };
}

const isSame = (one: ReportEnd | undefined, other: ReportEnd): boolean =>
  JSON.stringify(one) === JSON.stringify(other);
