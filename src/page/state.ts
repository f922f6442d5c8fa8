import type { RunEvent } from '../engine/events.ts';
import type { Millis } from '../model/duration.ts';
import type { RunSteps } from '../engine/run-steps.ts';

/** Kinds of work; each has a colour in the time line. */
export type Work = 'live' | 'prepare' | 'write' | 'build' | 'wait' | 'boot';

/** The tone of a state; `stopped` means ended because of another failure. */
export type Tone = 'idle' | 'busy' | 'waiting' | 'good' | 'bad' | 'stopped';

/** One step of a rail. */
export interface RailStep {
  readonly id: string;
  readonly title: string;
  readonly work: Work;
  /** False if the configuration leaves the step out. */
  readonly isActive: boolean;
}

/** Steps one after the other; the main line has an empty name. */
export interface Track {
  readonly name: string;
  readonly steps: readonly RailStep[];
}

/**
 * The plan of a host: sections one after the other, each with one track or several parallel ones.
 */
export type Rail = readonly (readonly Track[])[];

/** A span of the time line. */
export interface Span {
  /** The track of the span. */
  readonly track: string;
  readonly title: string;
  readonly work: Work;
  /** The attempt of a step that may be tried several times. */
  readonly attempt?: number | undefined;
  /** Milliseconds since the epoch, like all times here. */
  readonly from: number;
  readonly until?: number | undefined;
  readonly isBad?: boolean | undefined;
}

/** The failure of a host. */
export interface HostFailure {
  /** Code in docs/errors.md, if it has a hint. */
  readonly code: string;
  readonly message: string;
  /** The cause or the context, if it adds to the message; else empty. */
  readonly why: string;
  /** The next action of a person; empty if unknown. */
  readonly hint: string;
  /** Path of the host's logs; empty if unknown. */
  readonly logs: string;
}

/** The end of a host. */
export interface HostEnd {
  readonly at: number;
  readonly isGood: boolean;
  /** True if the host was ended because another host or the cluster failed. */
  readonly isStopped?: boolean | undefined;
  readonly text: string;
}

/** The state of a host. */
export interface HostState {
  readonly id: string;
  readonly name: string;
  readonly role: string;
  readonly rail: Rail;
  readonly steps: RunSteps;
  readonly spans: readonly Span[];
  /** Stage and text of the host at the service. */
  readonly stage: string;
  readonly stageInfo: string;
  readonly status: string;
  /** The state of the machine while no agent runs on it. */
  readonly phase: string;
  /** Model, memory and disk; empty if unknown. */
  readonly hardware: string;
  readonly failure?: HostFailure | undefined;
  readonly end?: HostEnd | undefined;
}

/** An object of the cluster. */
export interface ObjectState {
  readonly kind: string;
  readonly name: string;
  readonly state: string;
  readonly tone: Tone;
  readonly at: number;
  /** Time at which the object was good for the first time. */
  readonly goodAt?: number | undefined;
}

/** An injected fault. */
export interface FaultState {
  readonly at: number;
  /** The host or the server of the fault. */
  readonly where: string;
  readonly what: string;
  /** Number of times that the fault occurred. */
  readonly times: number;
}

/** Levels of the log. */
export type LineLevel = 'debug' | 'info' | 'warn' | 'error';

/** A line of the log. */
export interface PageLine {
  /** Counts from 1, so that a reader knows which lines are new. */
  readonly n: number;
  readonly at: number;
  readonly source: string;
  readonly level: LineLevel;
  readonly text: string;
}

/** The end of the installation. */
export interface PageEnd {
  readonly at: number;
  readonly isGood: boolean;
  readonly text: string;
  readonly details: readonly string[];
  /** Facts beside the failure. */
  readonly notes?: readonly string[] | undefined;
}

/** The cluster at the service. */
export interface ClusterState {
  readonly status: string;
  readonly info: string;
  /** Path of its controller's logs; undefined if there are none. */
  readonly logs?: string | undefined;
}

/** The state of a page. */
export interface PageState {
  readonly title: string;
  readonly about: string;
  readonly startedAt: number;
  /** Usual duration, if it has been measured. */
  readonly usual?: Millis | undefined;
  /** Time of the last update. */
  readonly at: number;
  readonly cluster: ClusterState;
  readonly hosts: readonly HostState[];
  readonly objects: readonly ObjectState[];
  readonly faults: readonly FaultState[];
  readonly lines: readonly PageLine[];
  /** Number of all lines so far. */
  readonly lineCount: number;
  /** Time of the source's last answer; undefined before the first answer. */
  readonly answeredAt?: number | undefined;
  /** The reason why the shown state may be old. */
  readonly lastError?: string | undefined;
  /** In a few words, if the source answers and refuses. */
  readonly refusal?: string | undefined;
  readonly end?: PageEnd | undefined;
}

/** The events from which a page is made, in the order in which they happen. */
export type PageUpdate = { readonly at: number } & (
  | {
      /** Title and start of the installation, as far as known now. */
      readonly kind: 'begin';
      readonly title?: string | undefined;
      readonly startedAt?: number | undefined;
    }
  | ({ readonly kind: 'host' } & Pick<HostState, 'id' | 'name' | 'role' | 'rail'> &
      Partial<Pick<HostState, 'hardware'>>)
  | { readonly kind: 'event'; readonly host: string; readonly event: RunEvent }
  | {
      /** State of a host at the service. */
      readonly kind: 'stage';
      readonly host: string;
      readonly stage: string;
      readonly info: string;
      readonly status: string;
      /** Start of the stage, if the service has it. */
      readonly since?: number | undefined;
    }
  | { readonly kind: 'phase'; readonly host: string; readonly phase: string }
  | ({
      readonly kind: 'host-end';
      readonly host: string;
      readonly failure?: Partial<HostFailure> | undefined;
    } & Omit<HostEnd, 'at'>)
  | ({ readonly kind: 'cluster' } & ClusterState)
  | ({ readonly kind: 'object'; readonly isGone?: true } & {
      readonly object: Pick<ObjectState, 'kind' | 'name' | 'state' | 'tone'>;
    })
  | { readonly kind: 'fault'; readonly where: string; readonly what: string }
  | {
      readonly kind: 'line';
      readonly source: string;
      readonly level: LineLevel;
      readonly text: string;
    }
  | ({ readonly kind: 'source' } & Pick<PageState, 'lastError' | 'refusal'>)
  | ({ readonly kind: 'end' } & Omit<PageEnd, 'at'>)
);

/** Limits of a page's content; the oldest entries are dropped first. */
export const caps = {
  hosts: 1000,
  spans: 400,
  objects: 1000,
  faults: 200,
  lines: 2000,
  /** Maximum length of a text. */
  text: 600,
} as const;

/** A page without content. */
export const emptyPage = (title: string, about: string, at: number): PageState => ({
  title,
  about,
  startedAt: at,
  at,
  cluster: { status: '', info: '' },
  hosts: [],
  objects: [],
  faults: [],
  lines: [],
  lineCount: 0,
});
