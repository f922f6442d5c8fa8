import type { StageReport } from './ladder.ts';

/** Reports that wait to be sent: one for each stage, so it never holds more than the ladder has. */
export interface ReportQueue {
  /** Adds a report; it replaces one of the same stage that is still waiting. */
  readonly add: (report: StageReport) => void;
  readonly take: () => StageReport | undefined;
  /** After a failed attempt: the newest report, and none when a newer one makes the failed needless. */
  readonly newest: () => StageReport | undefined;
  readonly size: () => number;
}

/** An empty queue. */
export function reportQueue(): ReportQueue {
  let waiting: readonly StageReport[] = [];
  return {
    add: (report) => {
      waiting = [...waiting.filter(({ stage }) => stage !== report.stage), report];
    },
    take: () => {
      const [first, ...rest] = waiting;
      waiting = rest;
      return first;
    },
    newest: () => {
      const last = waiting.at(-1);
      waiting = [];
      return last;
    },
    size: () => waiting.length,
  };
}
