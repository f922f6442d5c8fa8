// Invariants of the ladder:
// 1. what is shown only rises, since the service refuses a lower stage (409);
// 2. with several lanes the lowest rung that a lane stands on is shown; a higher one is held back
//    until the lanes below have come up or ended;
// 3. the text beside a stage is renewed by progress and by the heartbeat, and by nothing else for
// long: each new text gives the host the whole time of its stage again; 4. what a wait has missed
// is shown no longer than to the next step.
import type { RunEvent } from '../engine/events.ts';
import { type Millis, renderDuration } from '../model/duration.ts';
import { type LadderName, ladders, type Stage, stageLimits } from '../model/stage.ts';

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
  /**
   * False for a lane before its first stage, unless it has a text for that time: nothing of it is
   * reported.
   */
  readonly isReached: boolean;
}

/** Points by which a percentage must rise before it is reported again. */
const percentStep = 5;

type ProgressEvent = Extract<RunEvent, { type: 'step.progress' }>;
type AliveEvent = Extract<RunEvent, { type: 'step.alive' }>;

/** What every event of a step has. */
interface AtWork {
  readonly lane?: string;
  readonly at: number;
}

/**
 * Lets the percentages of each step through that are news: five points above its last, or the end.
 */
interface PercentGate {
  readonly lets: (event: ProgressEvent) => boolean;
}

function percentGate(): PercentGate {
  const reported = new Map<string, number>();
  return {
    lets: ({ step, progress: { info, percent } }) => {
      // Other texts do not change with each point.
      if (percent === undefined || info !== `${percent}%`) return true;
      const last = reported.get(step) ?? 0;
      const isNews = percent >= last + percentStep || (percent === 100 && last < 100);
      if (isNews) reported.set(step, percent);
      return isNews;
    },
  };
}

/** Heartbeats within the limit of a stage: two may be lost. */
const beatsPerLimit = 3;

/** Decides when the text beside the present stage may be renewed. */
interface TextClock {
  /** A step begins: every text is news again. */
  readonly begin: (at: number) => void;
  /**
   * Whether a text may be sent. One that was shown before is no progress; it is sent while the last
   * progress is half the limit of the stage ago at most.
   */
  readonly lets: (text: string, at: number, limit: Millis) => boolean;
  readonly sent: (at: number) => void;
  /** The text of a heartbeat that is due. */
  readonly beat: (text: string, at: number, limit: Millis) => string | undefined;
}

function textClock(): TextClock {
  const known = new Set<string>();
  let progressAt = 0;
  let sentAt = 0;
  let beating = { text: '', since: 0 };
  return {
    begin: (at) => {
      known.clear();
      progressAt = at;
    },
    lets: (text, at, limit) => {
      const isNew = !known.has(text);
      known.add(text);
      if (isNew) progressAt = at;
      return at - progressAt < limit / 2;
    },
    sent: (at) => {
      sentAt = at;
    },
    beat: (text, at, limit) => {
      progressAt = at;
      if (beating.text !== text) beating = { text, since: known.has(text) ? sentAt : at };
      const silent = at - sentAt;
      // The clock of a host is often set while it is installed.
      if (silent >= 0 && silent < limit / beatsPerLimit) return undefined;
      sentAt = at;
      return `${text} (${renderDuration(Math.max(0, at - beating.since))})`;
    },
  };
}

/**
 * The ladder of one run. What an earlier run went through may have been reported by it, but nobody
 * knows: the highest stage of that is reported once, with the first thing that this run does
 * itself.
 */
export function ladderOf(name: LadderName): Ladder {
  const { read, restore } = climbingLadder(name);
  const pastWait = pastWaits();
  let unreported: StageReport | undefined;
  return (event) => {
    const ownReport = read(event);
    const behind = pastWait(event);
    const report = behind === undefined ? ownReport : restore(behind);
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

/**
 * Says of each step whether it is the first one behind a wait of its lane, and stands on no stage
 * of its own.
 */
function pastWaits(): (event: RunEvent) => AtWork | undefined {
  const over = new Set<string | undefined>();
  return (event) => {
    const isRetry = 'attempt' in event && event.type.startsWith('wait.');
    if (isRetry) return undefined;
    if (event.type === 'wait.finished') over.add(event.lane);
    if (event.type === 'wait.updated' || event.type === 'step.progress') over.delete(event.lane);
    if (event.type !== 'step.started' && event.type !== 'step.reused') return undefined;
    const isOver = over.delete(event.lane);
    return isOver && event.stage === undefined ? event : undefined;
  };
}

interface ClimbingLadder {
  readonly read: Ladder;
  /** Brings back the text with which the stage began, where the lane of a step stands. */
  readonly restore: (event: AtWork) => StageReport | undefined;
}

function climbingLadder(name: LadderName): ClimbingLadder {
  const rungs = ladders[name];
  const firstTexts = new Map<number, string>();
  const lanes = new Map<string, LaneStatus>();
  let shown: LaneStatus = { position: -1, info: '', isReached: true };
  const gate = percentGate();
  const texts = textClock();

  const show = (status: LaneStatus, at: number): StageReport | undefined => {
    const isSame = status.position === shown.position && status.info === shown.info;
    const stage = rungs[status.position];
    const isHeld = !status.isReached || status.position < shown.position;
    if (stage === undefined || isHeld || isSame) return undefined;
    if (status.position > shown.position) texts.begin(at);
    if (!texts.lets(status.info, at, stageLimits[stage])) return undefined;
    texts.sent(at);
    shown = status;
    return { stage, info: status.info };
  };

  const climb = ({ lane, at }: AtWork, status?: LaneStatus): StageReport | undefined => {
    if (status === undefined) return undefined;
    if (lane === undefined || !lanes.has(lane)) return show(status, at);
    lanes.set(lane, status);
    return show(lowest([...lanes.values()]), at);
  };

  const setInfo = (event: AtWork, info: string): StageReport | undefined =>
    climb(event, { ...(lanes.get(event.lane ?? '') ?? shown), info });

  const restore = (event: AtWork): StageReport | undefined => {
    const { position } = lanes.get(event.lane ?? '') ?? shown;
    return setInfo(event, firstTexts.get(position) ?? '');
  };

  const beat = ({ lane, doing, at }: AliveEvent): StageReport | undefined => {
    const stage = rungs[shown.position];
    const isShown = lanes.size === 0 || lanes.get(lane ?? '') === lowest([...lanes.values()]);
    if (stage === undefined || !isShown) return undefined;
    const text = doing ?? (shown.info === '' ? 'at work' : shown.info);
    const info = texts.beat(text, at, stageLimits[stage]);
    return info === undefined ? undefined : { stage, info };
  };

  const read: Ladder = (event) => {
    switch (event.type) {
      case 'lanes.started':
        for (const { lane, first, ahead } of event.staged) {
          const position = rungs.indexOf(first);
          lanes.set(lane, { position, info: ahead ?? '', isReached: ahead !== undefined });
        }
        return undefined;
      case 'lane.finished':
        lanes.delete(event.lane);
        return lanes.size === 0 ? undefined : show(lowest([...lanes.values()]), event.at);
      case 'step.started':
      case 'step.reused':
        texts.begin(event.at);
        if (event.stage !== undefined)
          firstTexts.set(rungs.indexOf(event.stage), event.stageInfo ?? '');
        return climb(event, statusOf(rungs, event));
      case 'step.progress':
        return gate.lets(event) ? setInfo(event, event.progress.info) : undefined;
      case 'step.alive':
        return beat(event);
      case 'wait.updated':
        // How often a request was tried is no progress.
        return event.attempt === undefined ? setInfo(event, event.status) : undefined;
      default:
        return undefined;
    }
  };
  return { read, restore };
}

/** Where a step with a stage stands. */
const statusOf = (
  rungs: readonly Stage[],
  { stage, stageInfo = '' }: { readonly stage?: Stage; readonly stageInfo?: string },
): LaneStatus | undefined =>
  stage === undefined
    ? undefined
    : { position: rungs.indexOf(stage), info: stageInfo, isReached: true };

const lowest = (statuses: readonly LaneStatus[]): LaneStatus =>
  statuses.reduce((low, status) => (status.position < low.position ? status : low));
