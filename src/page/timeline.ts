import type { Millis } from '../model/duration.ts';
import type { HostState, PageState, Span, Work } from './state.ts';

/** What the time of a host went into; `idle` is the time in which nothing of it is known. */
export type Shares = Readonly<Record<Work | 'idle', Millis>>;

/** A moment that is marked on the time line. */
export interface Moment {
  readonly at: number;
  readonly text: string;
  readonly isBad: boolean;
}

/** The time line of one host. */
export interface HostTimeline {
  readonly name: string;
  /** From the beginning of everything to the end of this host. */
  readonly took: Millis;
  readonly tracks: readonly { readonly name: string; readonly spans: readonly Span[] }[];
  readonly shares: Shares;
}

/** The time line of everything. */
export interface Timeline {
  readonly from: number;
  readonly until: number;
  readonly hosts: readonly HostTimeline[];
  /** Faults, and objects of the cluster that became well. */
  readonly moments: readonly Moment[];
  /** The longest spans first. */
  readonly longest: readonly (Span & { readonly host: string; readonly took: Millis })[];
}

/** Where several things go on at once, the first of these is what the time went into. */
const priority: readonly Work[] = ['write', 'build', 'boot', 'prepare', 'wait'];

const longestShown = 8;

/** Lays a page out in time, up to now or to its end. */
export function timelineOf(page: PageState, now: number): Timeline {
  const until = Math.max(page.end?.at ?? now, page.startedAt + 1);
  const starts = page.hosts.flatMap(({ spans }) => spans.map((span) => span.from));
  const from = Math.min(page.startedAt, ...starts);
  const hosts = page.hosts.map((host) => hostTimeline(host, from, until));
  const longest = page.hosts.flatMap(({ name, spans }) =>
    spans.map((span) => ({ ...span, host: name, took: (span.until ?? until) - span.from })),
  );
  return {
    ...{ from, until, hosts },
    moments: momentsOf(page),
    longest: longest.toSorted((one, other) => other.took - one.took).slice(0, longestShown),
  };
}

function hostTimeline(host: HostState, from: number, until: number): HostTimeline {
  const { name, spans } = host;
  const end = host.end?.at ?? until;
  const names = [...new Set(spans.map(({ track }) => track))];
  const tracks = names.map((track) => ({
    name: track,
    spans: spans.filter((span) => span.track === track),
  }));
  return { name, took: end - from, tracks, shares: sharesOf(spans, from, end) };
}

/** Divides a time among the kinds of work: they add up to it. */
export function sharesOf(spans: readonly Span[], from: number, until: number): Shares {
  const shares = { prepare: 0, write: 0, build: 0, wait: 0, boot: 0, idle: 0 };
  const within = (at: number): number => Math.min(until, Math.max(from, at));
  const edges = spans.flatMap((span) => [within(span.from), within(span.until ?? until)]);
  const cuts = [...new Set([from, ...edges, until])].toSorted((one, other) => one - other);
  cuts.forEach((cut, index) => {
    const next = cuts[index + 1];
    if (next === undefined) return;
    const open = spans.filter((span) => span.from <= cut && (span.until ?? until) >= next);
    const kind = priority.find((work) => open.some((span) => span.work === work)) ?? 'idle';
    shares[kind] += next - cut;
  });
  return shares;
}

const momentsOf = ({ faults, objects }: PageState): readonly Moment[] =>
  [
    ...faults.map(({ at, where, what }) => ({
      at,
      text: `fault on ${where}: ${what}`,
      isBad: true,
    })),
    ...objects.flatMap(({ kind, name, goodAt, state }) =>
      goodAt === undefined ? [] : [{ at: goodAt, text: `${kind} ${name}: ${state}`, isBad: false }],
    ),
  ].toSorted((one, other) => one.at - other.at);

/** Steps of a scale, in seconds. */
const scales = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 86_400];

/** Times of the marks of a scale with at most so many of them, in milliseconds from its beginning. */
export function scaleOf(length: Millis, most = 8): readonly Millis[] {
  const day = 86_400;
  const days = day * Math.max(1, Math.ceil(length / (most * day * 1000)));
  const step = 1000 * (scales.find((one) => length / (one * 1000) <= most) ?? days);
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, index) => index * step);
}
