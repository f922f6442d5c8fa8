import type { FailureContext, FailureKind } from '../model/failure.ts';
import type { Millis } from '../model/duration.ts';
import type { Stage } from '../model/stage.ts';

/** A failure in events. It has no nested values; the sinks mask it. */
export interface FailureReport {
  readonly code: string;
  readonly kind: FailureKind;
  readonly message: string;
  readonly hint: string;
  readonly context: FailureContext;
  /** The causes or the context for people, if they add to the message. */
  readonly why?: string;
}

/** Emits an event of a program, for its log, metrics and spans. */
export type Emit = (event: RunEventBody) => void;

/** Writes a line of the log. */
export type Note = (
  level: 'debug' | 'info' | 'warn',
  message: string,
  fields?: FailureContext,
) => void;

/** The function that writes notes of one part of a program. */
export const notesOf =
  (emit: Emit, step: string): Note =>
  (level, message, fields = {}) => {
    emit({ type: 'note', step, level, message, fields });
  };

/** Progress of a step; the inventory service shows `info`. */
export interface Progress {
  readonly info: string;
  /** Percentage from 0 to 100. */
  readonly percent?: number;
  readonly bytesPerSecond?: number;
  /** Expected time to the end of this step. */
  readonly remaining?: Millis;
}

/** A lane and its first stage. */
export interface StagedLane {
  readonly lane: string;
  readonly first: Stage;
  /**
   * The text beside the stage before the lane's step begins; without it, the stage is not shown
   * before then.
   */
  readonly ahead?: string;
}

/** The step that an event is about. */
interface StepReference {
  readonly step: string;
  readonly lane?: string;
}

/**
 * All events of a run. The log, the terminal, the event stream, the inventory service and the lab's
 * table show only these.
 */
export type RunEventBody =
  | {
      readonly type: 'run.started';
      readonly role: string;
      readonly version: string;
      readonly isResumed: boolean;
      readonly steps: number;
    }
  | {
      readonly type: 'run.finished';
      readonly outcome: 'finished' | 'left the host';
      readonly duration: Millis;
    }
  | { readonly type: 'run.failed'; readonly failure: FailureReport; readonly duration: Millis }
  | { readonly type: 'run.stopped'; readonly reason: string; readonly duration: Millis }
  | {
      readonly type: 'lanes.started';
      /**
       * Lanes that contain a step with a stage, each with its first stage. Other lanes do not
       * affect the shown stage.
       */
      readonly staged: readonly StagedLane[];
    }
  | { readonly type: 'lane.finished'; readonly lane: string }
  | (StepReference & {
      readonly type: 'step.started';
      readonly title: string;
      readonly attempt: number;
      readonly stage?: Stage;
      readonly stageInfo?: string;
    })
  | (StepReference & { readonly type: 'step.progress'; readonly progress: Progress })
  | (StepReference & {
      /** Work continues without news, and limits its own time. */
      readonly type: 'step.alive';
      /** The current activity, if the text beside the stage does not name it. */
      readonly doing?: string;
    })
  | (StepReference & { readonly type: 'step.finished'; readonly duration: Millis })
  | (StepReference & {
      readonly type: 'step.retrying';
      readonly failure: FailureReport;
      readonly attempt: number;
      readonly attempts: number;
    })
  | (StepReference & { readonly type: 'step.failed'; readonly failure: FailureReport })
  | (StepReference & { readonly type: 'step.stopped' })
  | (StepReference & { readonly type: 'step.skipped'; readonly reason: string })
  | (StepReference & {
      readonly type: 'step.reused';
      readonly title: string;
      readonly stage?: Stage;
      readonly stageInfo?: string;
    })
  | (StepReference & {
      readonly type: 'wait.updated';
      /** The condition of the wait; for a retried request, the server that is asked. */
      readonly sentence: string;
      /** Number of attempts of a request; undefined for a wait that polls. */
      readonly attempt?: number;
      /** The missing condition. */
      readonly status: string;
      readonly waited: Millis;
      readonly limit: Millis;
    })
  | (StepReference & {
      /** The condition of the wait is met, or the wait timed out. */
      readonly type: 'wait.finished';
      readonly sentence: string;
      readonly isReached: boolean;
      readonly attempt?: number;
      readonly waited: Millis;
    })
  | (StepReference & {
      readonly type: 'note';
      readonly level: 'debug' | 'info' | 'warn';
      readonly message: string;
      readonly fields: FailureContext;
    })
  | { readonly type: 'command.started'; readonly argv: readonly string[] }
  | {
      readonly type: 'command.finished';
      readonly argv: readonly string[];
      readonly exitCode: number | undefined;
      readonly duration: Millis;
    }
  | { readonly type: 'report.sent'; readonly stage: Stage; readonly info: string }
  | {
      readonly type: 'report.dropped';
      readonly stage: Stage;
      readonly info: string;
      readonly failure: FailureReport;
    };

/** An event with its time and its run. */
export type RunEvent = RunEventBody & {
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** The id of the run; a resumed run has a new one. */
  readonly run: string;
};

/** Receives the events of a run. A sink never throws and never waits. */
export type Sink = (event: RunEvent) => void;
