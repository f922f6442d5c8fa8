// Invariants of the ladder:
// 1. what is shown only rises, since the service refuses a lower stage (409);
// 2. with several lanes the lowest rung that a lane stands on is shown; a higher one is held back
//    until the lanes below have come up or ended.
import type { RunEvent } from '../engine/events.ts';
import { type LadderName, ladders, type Stage } from '../model/stage.ts';

/** A stage and the text beside it, as the inventory service keeps them. */
export interface StageReport {
  readonly stage: Stage;
  readonly info: string;
}

/** Reads the events of a run in order and says what they mean for the service, if anything. */
export type Ladder = (event: RunEvent) => StageReport | undefined;

interface LaneStatus {
  readonly position: number;
  readonly info: string;
  /** False for a lane that has not come to its first stage yet: nothing of it is reported. */
  readonly isReached: boolean;
}

/** Points by which a percentage must rise before it is reported again. */
const percentStep = 5;

type ProgressEvent = Extract<RunEvent, { type: 'step.progress' }>;

interface PercentGate {
  readonly lets: (percent: number) => boolean;
  readonly reset: () => void;
}

/** Lets a percentage through that is news: five points above the last, or the end. */
function percentGate(): PercentGate {
  let reported = 0;
  return {
    lets: (percent) => {
      const isNews = percent >= reported + percentStep || (percent === 100 && reported < 100);
      if (isNews) reported = percent;
      return isNews;
    },
    reset: () => {
      reported = 0;
    },
  };
}

/**
 * The ladder of one run. What an earlier run went through may have been reported by it, but nobody knows:
 * the highest stage of that is reported once, with the first thing that this run does itself.
 */
export function ladderOf(name: LadderName): Ladder {
  const read = climbingLadder(name);
  let unreported: StageReport | undefined;
  return (event) => {
    const report = read(event);
    if (event.type === 'step.reused') {
      unreported = report ?? unreported;
      return undefined;
    }
    if (event.type !== 'step.started' && event.type !== 'run.finished') return report;
    const due = report ?? unreported;
    unreported = undefined;
    return due;
  };
}

function climbingLadder(name: LadderName): Ladder {
  const rungs = ladders[name];
  const lanes = new Map<string, LaneStatus>();
  let shown: LaneStatus = { position: -1, info: '', isReached: true };
  const gate = percentGate();

  const statusOf = (event: {
    readonly stage?: Stage;
    readonly stageInfo?: string;
  }): LaneStatus => ({
    position: event.stage === undefined ? shown.position : rungs.indexOf(event.stage),
    info: event.stageInfo ?? '',
    isReached: true,
  });

  const show = (status: LaneStatus): StageReport | undefined => {
    const isSame = status.position === shown.position && status.info === shown.info;
    const stage = rungs[status.position];
    const isHeld = !status.isReached || status.position < shown.position;
    if (stage === undefined || isHeld || isSame) return undefined;
    if (status.position > shown.position) gate.reset();
    shown = status;
    return { stage, info: status.info };
  };

  const climb = (lane: string | undefined, status: LaneStatus): StageReport | undefined => {
    if (lane === undefined || !lanes.has(lane)) return show(status);
    lanes.set(lane, status);
    return show(lowest([...lanes.values()]));
  };

  const setInfo = (lane: string | undefined, info: string): StageReport | undefined => {
    const status = lane === undefined ? shown : (lanes.get(lane) ?? shown);
    return climb(lane, { ...status, info });
  };

  const progress = ({ lane, progress: { info, percent } }: ProgressEvent): ReturnType<Ladder> => {
    if (percent !== undefined && !gate.lets(percent)) return undefined;
    return setInfo(lane, info);
  };

  return (event) => {
    switch (event.type) {
      case 'lanes.started':
        for (const { lane, first } of event.staged) {
          lanes.set(lane, { position: rungs.indexOf(first), info: '', isReached: false });
        }
        return undefined;
      case 'lane.finished':
        lanes.delete(event.lane);
        return lanes.size === 0 ? undefined : show(lowest([...lanes.values()]));
      case 'step.started':
        if (event.attempt > 1) gate.reset();
        return event.stage === undefined ? undefined : climb(event.lane, statusOf(event));
      case 'step.reused':
        return event.stage === undefined ? undefined : climb(event.lane, statusOf(event));
      case 'step.progress':
        return progress(event);
      case 'wait.updated':
        return setInfo(event.lane, event.status);
      default:
        return undefined;
    }
  };
}

const lowest = (statuses: readonly LaneStatus[]): LaneStatus =>
  statuses.reduce((low, status) => (status.position < low.position ? status : low));
