import type { RunEvent } from '../engine/events.ts';
import type { Millis } from '../model/duration.ts';
import type { RunSteps } from '../engine/run-steps.ts';

/** The kinds of work; the time line has a colour for each. */
export type Work = 'live' | 'prepare' | 'write' | 'build' | 'wait' | 'boot';

/** The state of anything; `stopped` did nothing wrong, and ended because something else failed. */
export type Tone = 'idle' | 'busy' | 'waiting' | 'good' | 'bad' | 'stopped';

/** One step of a rail. */
export interface RailStep {
  readonly id: string;
  readonly title: string;
  readonly work: Work;
  /** False when the configuration leaves the step out. */
  readonly isActive: boolean;
}

/** Steps one after the other; the main line has no name. */
export interface Track {
  readonly name: string;
  readonly steps: readonly RailStep[];
}

/**
 * The plan of a host: sections one after the other, each of one track or of several beside each
 * other.
 */
export type Rail = readonly (readonly Track[])[];

/** A span of the time line. */
export interface Span {
  /** The track that it is drawn in. */
  readonly track: string;
  readonly title: string;
  readonly work: Work;
  /** Milliseconds since the epoch, as all times here. */
  readonly from: number;
  readonly until?: number | undefined;
  readonly isBad?: boolean | undefined;
}

/** Why a host failed. */
export interface HostFailure {
  /** As docs/errors.md has it, where there is a hint. */
  readonly code: string;
  readonly message: string;
  /** The cause or the context, where it says more than the message; else empty. */
  readonly why: string;
  /** The next action of a person; empty where none is known. */
  readonly hint: string;
  /** Where its logs are; empty where that is not known. */
  readonly logs: string;
}

/** How a host ended. */
export interface HostEnd {
  readonly at: number;
  readonly isGood: boolean;
  /** True of a host that was ended because another host, or the cluster, failed. */
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
  /** Stage and text that the service has of it. */
  readonly stage: string;
  readonly stageInfo: string;
  readonly status: string;
  /** The state of the machine while no agent runs on it. */
  readonly phase: string;
  /** Model, memory and disk; empty where they are not known. */
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
  /** When it was well for the first time. */
  readonly goodAt?: number | undefined;
}

/** A fault that was injected. */
export interface FaultState {
  readonly at: number;
  /** The host or the server that it struck. */
  readonly where: string;
  readonly what: string;
  /** How often it has struck. */
  readonly times: number;
}

/** Levels of the log. */
export type LineLevel = 'debug' | 'info' | 'warn' | 'error';

/** A line of the log. */
export interface PageLine {
  /** Counts from 1, so that a reader knows what is new. */
  readonly n: number;
  readonly at: number;
  readonly source: string;
  readonly level: LineLevel;
  readonly text: string;
}

/** How everything ended. */
export interface PageEnd {
  readonly at: number;
  readonly isGood: boolean;
  readonly text: string;
  readonly details: readonly string[];
}

/** The cluster as the service has it. */
export interface ClusterState {
  readonly status: string;
  readonly info: string;
  /** Where the logs of its controller are; missing where there are none. */
  readonly logs?: string | undefined;
}

/** Everything that a page shows. */
export interface PageState {
  readonly title: string;
  readonly about: string;
  readonly startedAt: number;
  /** How long it usually takes, where somebody has measured that. */
  readonly usual?: Millis | undefined;
  /** When the last update came. */
  readonly at: number;
  readonly cluster: ClusterState;
  readonly hosts: readonly HostState[];
  readonly objects: readonly ObjectState[];
  readonly faults: readonly FaultState[];
  readonly lines: readonly PageLine[];
  /** How many lines there were in all. */
  readonly lineCount: number;
  /** When its source answered last; undefined before the first answer. */
  readonly answeredAt?: number | undefined;
  /** Why what is shown may be old. */
  readonly lastError?: string | undefined;
  /** In a few words, where the source answers and refuses. */
  readonly refusal?: string | undefined;
  readonly end?: PageEnd | undefined;
}

/** The events that a page is made of, in the order in which they happen. */
export type PageUpdate = { readonly at: number } & (
  | {
      /** What it is, and since when, as far as that is known now. */
      readonly kind: 'begin';
      readonly title?: string | undefined;
      readonly startedAt?: number | undefined;
    }
  | ({ readonly kind: 'host' } & Pick<HostState, 'id' | 'name' | 'role' | 'rail'> &
      Partial<Pick<HostState, 'hardware'>>)
  | { readonly kind: 'event'; readonly host: string; readonly event: RunEvent }
  | {
      /** What the service has of a host. */
      readonly kind: 'stage';
      readonly host: string;
      readonly stage: string;
      readonly info: string;
      readonly status: string;
      /** When the stage began, where the service says so. */
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

/** Limits of what a page keeps; the oldest is dropped first. */
export const caps = {
  hosts: 1000,
  spans: 400,
  objects: 1000,
  faults: 200,
  lines: 2000,
  /** Characters of a text. */
  text: 600,
} as const;

/** A page of which nothing is known. */
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
