// Invariants of the ladder:
// 1. the shown stage never falls, since the service refuses a lower stage (409);
// 2. with several lanes, the lowest stage of a lane is shown; a higher stage waits until the lanes
//    below have reached it or ended;
// 3. over a long time, only progress and the heartbeat renew the text beside a stage: each new text
//    gives the host the whole time of its stage again;
// 4. the missing condition of a wait is shown at most until the next step.
import type { RunEvent } from '../engine/events.ts';
import { type Millis, renderDuration } from '../model/duration.ts';
import { type LadderName, ladders, type Stage, stageLimits } from '../model/stage.ts';

/** A stage and the text beside it, as the inventory service stores them. */
export interface StageReport {
  readonly stage: Stage;
  readonly info: string;
}

interface LaneStatus {
  readonly position: number;
  readonly info: string;
  /**
   * False for a lane before its first stage, unless it has a text for that time: the lane is not
   * reported then.
   */
  readonly isReached: boolean;
}

type EventOf<Type> = Extract<RunEvent, { readonly type: Type }>;

/** The lane of an event, undefined for the main line, and the time of the event. */
interface LaneEvent {
  readonly lane?: string;
  readonly at: number;
}

/** Percentage points of progress between two reports. */
const percentStep = 5;

/** Heartbeats within the limit of a stage: two may be lost. */
const beatsPerLimit = 3;

/**
 * Reads the events of a run in order, and decides which of them to report to the service. The run
 * cannot know whether an earlier run has reported its stages. It reports the highest of them once,
 * with its own first event.
 */
export class Ladder {
  readonly #rungs: readonly Stage[];
  readonly #lanes = new Map<string, LaneStatus>();
  #shown: LaneStatus = { position: -1, info: '', isReached: true };
  #unreported: StageReport | undefined;
  readonly #firstTexts = new Map<number, string>();
  /** Lanes whose wait has ended, until their next step. */
  readonly #pastWaits = new Set<string | undefined>();
  /** The last reported percentage of each step. */
  readonly #percents = new Map<string, number>();
  /** Texts since the present step began. */
  readonly #knownTexts = new Set<string>();
  #progressAt = 0;
  #sentAt = 0;
  #heartbeat = { text: '', since: 0 };

  constructor(name: LadderName) {
    this.#rungs = ladders[name];
  }

  /** The report for an event, if it needs one. */
  read(event: RunEvent): StageReport | undefined {
    const report = this.#reportOf(event);
    if (event.type === 'step.reused') {
      this.#unreported = report ?? this.#unreported;
      return undefined;
    }
    if (event.type !== 'step.started' && event.type !== 'run.finished') return report;
    const due = report ?? this.#unreported;
    this.#unreported = undefined;
    return due;
  }

  #reportOf(event: RunEvent): StageReport | undefined {
    switch (event.type) {
      case 'lanes.started':
        for (const { lane, first, ahead } of event.staged) {
          const position = this.#rungs.indexOf(first);
          this.#lanes.set(lane, { position, info: ahead ?? '', isReached: ahead !== undefined });
        }
        return undefined;
      case 'lane.finished':
        this.#lanes.delete(event.lane);
        return this.#lanes.size === 0 ? undefined : this.#show(this.#lowest(), event.at);
      case 'step.started':
      case 'step.reused':
        return this.#begin(event);
      case 'step.progress':
        this.#pastWaits.delete(event.lane);
        return this.#isNews(event) ? this.#setInfo(event, event.progress.info) : undefined;
      case 'step.alive':
        return this.#beat(event);
      case 'wait.updated':
        // Another attempt of a request is not progress.
        if (event.attempt !== undefined) return undefined;
        this.#pastWaits.delete(event.lane);
        return this.#setInfo(event, event.status);
      case 'wait.finished':
        if (event.attempt === undefined) this.#pastWaits.add(event.lane);
        return undefined;
      default:
        return undefined;
    }
  }

  #begin(event: EventOf<'step.started' | 'step.reused'>): StageReport | undefined {
    const { lane, at, stage, stageInfo: info = '' } = event;
    this.#renewTexts(at);
    const isBehindWait = this.#pastWaits.delete(lane);
    if (stage !== undefined) {
      const position = this.#rungs.indexOf(stage);
      this.#firstTexts.set(position, info);
      return this.#climb(event, { position, info, isReached: true });
    }
    const { position } = this.#statusOf(lane);
    return isBehindWait ? this.#setInfo(event, this.#firstTexts.get(position) ?? '') : undefined;
  }

  #statusOf(lane: string | undefined): LaneStatus {
    return this.#lanes.get(lane ?? '') ?? this.#shown;
  }

  #setInfo(event: LaneEvent, info: string): StageReport | undefined {
    return this.#climb(event, { ...this.#statusOf(event.lane), info });
  }

  #climb({ lane, at }: LaneEvent, status: LaneStatus): StageReport | undefined {
    if (lane === undefined || !this.#lanes.has(lane)) return this.#show(status, at);
    this.#lanes.set(lane, status);
    return this.#show(this.#lowest(), at);
  }

  #lowest(): LaneStatus {
    return [...this.#lanes.values()].reduce((low, status) =>
      status.position < low.position ? status : low,
    );
  }

  #show(status: LaneStatus, at: number): StageReport | undefined {
    const { position, info, isReached } = status;
    const stage = this.#rungs[position];
    const isSame = position === this.#shown.position && info === this.#shown.info;
    if (stage === undefined || !isReached || position < this.#shown.position || isSame)
      return undefined;
    if (position > this.#shown.position) this.#renewTexts(at);
    if (!this.#renewsStage(info, at, stageLimits[stage])) return undefined;
    this.#sentAt = at;
    this.#shown = status;
    return { stage, info };
  }

  /** At a new step or stage, every text counts as new again. */
  #renewTexts(at: number): void {
    this.#knownTexts.clear();
    this.#progressAt = at;
  }

  /**
   * Whether to send a text. A text that was shown before is not progress; it is sent only within
   * half the limit of the stage after the last progress.
   */
  #renewsStage(text: string, at: number, limit: Millis): boolean {
    if (!this.#knownTexts.has(text)) this.#progressAt = at;
    this.#knownTexts.add(text);
    return at - this.#progressAt < limit / 2;
  }

  /**
   * A bare percentage is news if it is five points above the last reported one of its step, and at
   * 100.
   */
  #isNews({ step, progress: { info, percent } }: EventOf<'step.progress'>): boolean {
    if (percent === undefined || info !== `${percent}%`) return true;
    const last = this.#percents.get(step) ?? 0;
    const isNews = percent >= last + percentStep || (percent === 100 && last < 100);
    if (isNews) this.#percents.set(step, percent);
    return isNews;
  }

  /** The report of a heartbeat, if one is due. */
  #beat({ lane, doing, at }: EventOf<'step.alive'>): StageReport | undefined {
    const stage = this.#rungs[this.#shown.position];
    const isShown = this.#lanes.size === 0 || this.#lanes.get(lane ?? '') === this.#lowest();
    if (stage === undefined || !isShown) return undefined;
    const text = doing ?? (this.#shown.info === '' ? 'at work' : this.#shown.info);
    this.#progressAt = at;
    if (this.#heartbeat.text !== text)
      this.#heartbeat = { text, since: this.#knownTexts.has(text) ? this.#sentAt : at };
    const silent = at - this.#sentAt;
    // The clock of a host is often set during the installation.
    if (silent >= 0 && silent < stageLimits[stage] / beatsPerLimit) return undefined;
    this.#sentAt = at;
    const duration = renderDuration(Math.max(0, at - this.#heartbeat.since));
    return { stage, info: `${text} (${duration})` };
  }
}
