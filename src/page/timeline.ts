import { type Millis, renderDuration } from '../model/duration.ts';
import { html, type Html } from './html.ts';
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

/** Where several things continue at once, the first of these is what the time went into. */
const priority: readonly Work[] = ['write', 'build', 'boot', 'live', 'prepare', 'wait'];

const longestShown = 8;

/** Lays a page out in time, up to now or to its end. */
export function timelineOf(page: PageState, now: number): Timeline {
  const { startedAt, end } = page;
  const starts = page.hosts
    .flatMap(({ spans }) => spans.map((span) => span.from))
    .toSorted((one, other) => one - other);
  const from = Math.min(startedAt, starts[0] ?? startedAt);
  const until = Math.max(end?.at ?? now, startedAt + 1, starts.at(-1) ?? 0);
  const hosts = page.hosts.map((host) => hostTimeline(host, from, until));
  const longest = page.hosts.flatMap(({ name, spans }) =>
    spans.map((span) => ({ ...span, host: name, took: (span.until ?? until) - span.from })),
  );
  return {
    from,
    until,
    hosts,
    moments: momentsOf(page),
    longest: longest.toSorted((one, other) => other.took - one.took).slice(0, longestShown),
  };
}

function hostTimeline(host: HostState, from: number, until: number): HostTimeline {
  const { name, spans } = host;
  // One that ended before all this began takes none of its time.
  const end = Math.max(from, host.end?.at ?? until);
  const names = [...new Set(spans.map(({ track }) => track))];
  const tracks = names.map((track) => ({
    name: track,
    spans: spans.filter((span) => span.track === track),
  }));
  return { name, took: end - from, tracks, shares: sharesOf(spans, from, end) };
}

/** Divides a time among the kinds of work: they add up to it. */
export function sharesOf(spans: readonly Span[], from: number, until: number): Shares {
  const shares = { live: 0, prepare: 0, write: 0, build: 0, wait: 0, boot: 0, idle: 0 };
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

/**
 * Times of the marks of a scale with at most so many of them, in milliseconds from its beginning.
 */
export function scaleOf(length: Millis, most = 8): readonly Millis[] {
  const day = 86_400;
  const days = day * Math.max(1, Math.ceil(length / (most * day * 1000)));
  const step = 1000 * (scales.find((one) => length / (one * 1000) <= most) ?? days);
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, index) => index * step);
}

const barHeight = 12;
const rowHeight = 15;

/** What the kinds of work are called. */
const workWords: Readonly<Record<Work | 'idle', string>> = {
  live: 'start the live medium',
  prepare: 'prepare',
  write: 'write disks',
  build: 'build images',
  wait: 'wait',
  boot: 'boot and join',
  idle: 'nothing known',
};

const kinds = Object.keys(workWords) as (Work | 'idle')[];

/** The time line, what continued when on each host, and where the time went. */
export function timelineSection(page: PageState, now: number): Html {
  const timeline = timelineOf(page, now);
  if (timeline.hosts.every(({ tracks }) => tracks.length === 0)) {
    return html`<p class="none">Nothing has begun yet.</p>`;
  }
  return html`<ul class="legend">
      ${kinds
        .filter((kind) => timeline.hosts.some(({ shares }) => shares[kind] > 0))
        .map((kind) => html`<li><i class="work-${kind}"></i>${workWords[kind]}</li>`)}${
        timeline.moments.some(({ isBad }) => isBad)
          ? html`<li><i class="mark-bad"></i>fault</li>`
          : undefined
      }
    </ul>
    <div class="timeline">
      ${timeline.hosts.map((host) => hostRow(host, timeline))}${momentRow(timeline)}${scaleRow(timeline)}
    </div>
    <h3>Where the time went</h3>
    ${sharesTable(timeline)}
    <h3>Longest steps</h3>
    ${longestList(timeline)}`;
}

const percentOf = ({ from, until }: Timeline, span: number): string =>
  ((100 * span) / (until - from)).toFixed(3);

function hostRow(host: HostTimeline, timeline: Timeline): Html {
  const { name, tracks, took } = host;
  const bars = tracks.flatMap(({ spans }, row) =>
    spans.map((span) => barOf(span, row * rowHeight, timeline)),
  );
  const label = `${name}: ${sharesText(host.shares)}`;
  const height = Math.max(1, tracks.length) * rowHeight;
  return html`<div class="row">
    <b>${name}</b
    ><svg role="img" aria-label="${label}" height="${height}">
      ${faultLines(timeline, height)}${bars}</svg
    ><small>${renderDuration(took)}</small>
  </div>`;
}

const sharesText = (shares: Shares): string =>
  kinds
    .filter((kind) => shares[kind] > 0)
    .map((kind) => `${workWords[kind]} ${renderDuration(shares[kind])}`)
    .join(', ');

function barOf(span: Span, top: number, timeline: Timeline): Html {
  const until = span.until ?? timeline.until;
  const x = percentOf(timeline, span.from - timeline.from);
  const width = percentOf(timeline, Math.max(0, until - span.from));
  const where = span.track === '' ? '' : `${span.track}: `;
  const title = `${where}${span.title}, ${renderDuration(until - span.from)}`;
  const isOpen = span.until === undefined ? ' is-open' : '';
  const isBad = span.isBad === true ? ' is-bad' : '';
  return html`<rect
    class="work-${span.work}${isOpen}${isBad}"
    x="${x}%"
    y="${top + 1}"
    width="${width}%"
    height="${barHeight}"
    rx="2"
    ><title>${title}</title></rect
  >`;
}

const faultLines = (timeline: Timeline, height: number): readonly Html[] =>
  timeline.moments
    .filter(({ isBad }) => isBad)
    .map(({ at, text }) => {
      const x = percentOf(timeline, at - timeline.from);
      return html`<rect class="mark-bad" x="${x}%" y="0" width="2" height="${height}"
        ><title>${text}</title></rect
      >`;
    });

/** What became well in the cluster, as marks. */
function momentRow(timeline: Timeline): Html | undefined {
  const good = timeline.moments.filter(({ isBad }) => !isBad);
  if (good.length === 0) return undefined;
  const marks = good.map(({ at, text }) => {
    const x = percentOf(timeline, at - timeline.from);
    return html`<circle class="mark-good" cx="${x}%" cy="7" r="4"
      ><title>${text}, after ${renderDuration(at - timeline.from)}</title></circle
    >`;
  });
  return html`<div class="row">
    <b>cluster</b
    ><svg
      role="img"
      aria-label="${good.length} objects of the cluster became well"
      height="${rowHeight}"
    >
      ${marks}</svg
    ><small></small>
  </div>`;
}

function scaleRow(timeline: Timeline): Html {
  const length = timeline.until - timeline.from;
  const marks = scaleOf(length).map((at) => {
    const x = percentOf(timeline, at);
    // The last one would stand outside.
    const anchor = at === 0 ? 'start' : at > 0.94 * length ? 'end' : 'middle';
    return html`<g
      ><rect x="${x}%" y="0" width="1" height="4" /><text x="${x}%" y="16" text-anchor="${anchor}"
        >${scaleText(at)}</text
      ></g
    >`;
  });
  return html`<div class="row scale" aria-hidden="true">
    <b></b><svg height="18">${marks}</svg><small></small>
  </div>`;
}

const scaleText = (at: number): string => (at === 0 ? '0' : renderDuration(at));

function sharesTable({ hosts }: Timeline): Html {
  const shown = kinds.filter((kind) => hosts.some(({ shares }) => shares[kind] > 0));
  const rows = hosts.map(({ name, took, shares }) => {
    const cells = shown.map((kind) => html`<td>${cellText(shares[kind], took)}</td>`);
    return html`<tr>
      <th scope="row">${name}</th>
      <td>${renderDuration(took)}</td>
      ${cells}
    </tr>`;
  });
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Where the time went">
    <table>
      <thead>
        <tr>
          <th scope="col">host</th>
          <th scope="col">all</th>
          ${shown.map((kind) => html`<th scope="col"><i class="work-${kind}"></i>${workWords[kind]}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;
}

const cellText = (share: number, took: number): string =>
  share === 0
    ? '–'
    : `${renderDuration(share)} (${Math.round((100 * share) / Math.max(1, took))} %)`;

const longestList = ({ longest, from, until }: Timeline): Html =>
  html`<ol class="longest">
    ${longest.map(
      ({ host, title, took, work }) =>
        html`<li>
          <i class="work-${work}"></i><b>${host}</b> <span>${title}</span>
          <small
            >${renderDuration(took)}, ${Math.round((100 * took) / (until - from))} % of all</small
          >
        </li>`,
    )}
  </ol>`;
