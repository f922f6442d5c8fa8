// Invariants of the ladder:
// 1. what is shown only rises, since the service refuses a lower stage (409);
// 2. with several lanes the lowest rung that a lane stands on is shown; a higher one is held back
//    until the lanes below have come up or ended.
import type { RunEvent } from '../engine/events.ts';
import { type LadderName, ladders, type Stage } from '../model/stage.ts';

/** What the inventory service is to be told. */
export interface StageReport {
  readonly stage: Stage;
  readonly info: string;
}

/** Reads the events of a run in order and says what they mean for the service, if anything. */
export type Ladder = (event: RunEvent) => StageReport | undefined;

interface Standing {
  readonly rung: number;
  readonly info: string;
  /** False for a lane that has not come to its first stage yet: nothing of it is told. */
  readonly isReached: boolean;
}

/** Points by which a percentage must rise before it is told again. */
const percentStep = 5;

type ProgressEvent = Extract<RunEvent, { type: 'step.progress' }>;

interface PercentGate {
  readonly lets: (percent: number) => boolean;
  readonly reset: () => void;
}

/** Lets a percentage through that is news: five points above the last, or the end. */
function percentGate(): PercentGate {
  let told = 0;
  return {
    lets: (percent) => {
      const isNews = percent >= told + percentStep || (percent === 100 && told < 100);
      if (isNews) told = percent;
      return isNews;
    },
    reset: () => {
      told = 0;
    },
  };
}

/**
 * The ladder of one run. What an earlier run went through may have been told by it, but nobody knows:
 * the highest stage of that is told once, with the first thing that this run does itself.
 */
export function ladderOf(name: LadderName): Ladder {
  const read = climbingLadder(name);
  let untold: StageReport | undefined;
  return (event) => {
    const report = read(event);
    if (event.type === 'step.reused') {
      untold = report ?? untold;
      return undefined;
    }
    if (event.type !== 'step.started' && event.type !== 'run.finished') return report;
    const told = report ?? untold;
    untold = undefined;
    return told;
  };
}

function climbingLadder(name: LadderName): Ladder {
  const rungs = ladders[name];
  const lanes = new Map<string, Standing>();
  let shown: Standing = { rung: -1, info: '', isReached: true };
  const gate = percentGate();

  const standingOf = (event: {
    readonly stage?: Stage;
    readonly stageInfo?: string;
  }): Standing => ({
    rung: event.stage === undefined ? shown.rung : rungs.indexOf(event.stage),
    info: event.stageInfo ?? '',
    isReached: true,
  });

  const show = (standing: Standing): StageReport | undefined => {
    const isSame = standing.rung === shown.rung && standing.info === shown.info;
    const stage = rungs[standing.rung];
    const isHeld = !standing.isReached || standing.rung < shown.rung;
    if (stage === undefined || isHeld || isSame) return undefined;
    if (standing.rung > shown.rung) gate.reset();
    shown = standing;
    return { stage, info: standing.info };
  };

  const climb = (lane: string | undefined, standing: Standing): StageReport | undefined => {
    if (lane === undefined || !lanes.has(lane)) return show(standing);
    lanes.set(lane, standing);
    return show(lowest([...lanes.values()]));
  };

  const tell = (lane: string | undefined, info: string): StageReport | undefined => {
    const standing = lane === undefined ? shown : (lanes.get(lane) ?? shown);
    return climb(lane, { ...standing, info });
  };

  const progress = ({ lane, progress: { info, percent } }: ProgressEvent): ReturnType<Ladder> => {
    if (percent !== undefined && !gate.lets(percent)) return undefined;
    return tell(lane, info);
  };

  return (event) => {
    switch (event.type) {
      case 'lanes.started':
        for (const { lane, first } of event.staged) {
          lanes.set(lane, { rung: rungs.indexOf(first), info: '', isReached: false });
        }
        return undefined;
      case 'lane.finished':
        lanes.delete(event.lane);
        return lanes.size === 0 ? undefined : show(lowest([...lanes.values()]));
      case 'step.started':
        if (event.attempt > 1) gate.reset();
        return event.stage === undefined ? undefined : climb(event.lane, standingOf(event));
      case 'step.reused':
        return event.stage === undefined ? undefined : climb(event.lane, standingOf(event));
      case 'step.progress':
        return progress(event);
      case 'wait.updated':
        return tell(event.lane, event.status);
      default:
        return undefined;
    }
  };
}

const lowest = (standings: readonly Standing[]): Standing =>
  standings.reduce((low, standing) => (standing.rung < low.rung ? standing : low));
