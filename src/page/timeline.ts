import { type Millis, renderDuration } from '../model/duration.ts';
import { stopCause, stoppedText } from './host-state.ts';
import { html, type Html } from './html.ts';
import type { HostState, PageState, Span, Work } from './state.ts';

/** Names of the kinds of work; of several at once, the first in this order counts. */
const workWords: Readonly<Record<Work | 'idle', string>> = {
  write: 'write disks',
  build: 'build images',
  boot: 'boot and join',
  live: 'start the live medium',
  prepare: 'prepare',
  wait: 'wait',
  idle: 'nothing known',
};

type Kind = keyof typeof workWords;
const kinds = Object.keys(workWords) as Kind[];

const LONGEST_SHOWN = 8;

/** The time line of the installation. */
type Timeline = ReturnType<typeof timelineOf>;

/** Computes the time line of a page, up to now or to its end. */
export function timelineOf(page: PageState, now: number) {
  const { startedAt, end } = page;
  const starts = page.hosts.flatMap(({ spans }) => spans.map((span) => span.from));
  const from = Math.min(startedAt, ...starts);
  const until = Math.max(end?.at ?? now, startedAt + 1, ...starts);
  const longest = page.hosts.flatMap(({ name, spans }) =>
    spans.map((span) => ({
      ...span,
      title: titleOf(span, spans),
      host: name,
      took: (span.until ?? until) - span.from,
    })),
  );
  const cause = stopCause(page);
  return {
    from,
    until,
    hosts: page.hosts.map((host) => ({
      ...hostTimeline(host, from, until),
      isGood: host.end?.isGood === true,
      stopped: host.end?.isStopped === true ? stoppedText(host, cause) : undefined,
    })),
    moments: momentsOf(page),
    /** The longest spans first. */
    longest: longest.toSorted((one, other) => other.took - one.took).slice(0, LONGEST_SHOWN),
  };
}

/** The title of a span; of several attempts, each has its number. */
function titleOf({ title, attempt }: Span, spans: readonly Span[]): string {
  const isRepeated = spans.some((one) => one.title === title && one.attempt !== attempt);
  return isRepeated && attempt !== undefined ? `${title}, attempt ${attempt}` : title;
}

function hostTimeline({ name, spans, end }: HostState, from: number, until: number) {
  // A host that ended before the beginning takes no time.
  const last = Math.max(from, end?.at ?? until);
  const tracks = [...Map.groupBy(spans, ({ track }) => track).values()];
  return { name, took: last - from, tracks, shares: sharesOf(spans, from, last) };
}

/**
 * Divides a time into shares of the kinds of work, which add up to it; `idle` is the time without
 * information.
 */
export function sharesOf(
  spans: readonly Span[],
  from: number,
  until: number,
): Readonly<Record<Kind, Millis>> {
  const shares = { live: 0, prepare: 0, write: 0, build: 0, wait: 0, boot: 0, idle: 0 };
  const edges = spans
    .flatMap((span) => [span.from, span.until ?? until])
    .filter((at) => at > from && at < until);
  const cuts = [...new Set([from, ...edges, until])].toSorted((one, other) => one - other);
  for (const [index, next] of cuts.slice(1).entries()) {
    const cut = cuts[index] ?? from;
    const open = spans.filter((span) => span.from <= cut && (span.until ?? until) >= next);
    const kind = kinds.find((work) => open.some((span) => span.work === work)) ?? 'idle';
    shares[kind] += next - cut;
  }
  return shares;
}

/** Faults, objects of the cluster that became good, and a failed end. */
function momentsOf({ faults, objects, end }: PageState) {
  const moments = [
    ...faults.map(({ at, where, what }) => ({
      at,
      text: `fault on ${where}: ${what}`,
      isBad: true,
    })),
    ...objects.flatMap(({ kind, name, goodAt: at, state }) =>
      at === undefined ? [] : [{ at, text: `${kind} ${name}: ${state}`, isBad: false }],
    ),
    ...(end?.isGood === false
      ? [{ at: end.at, text: `end: ${end.text}`, isBad: true, isEnd: true }]
      : []),
  ];
  return moments.toSorted((one, other) => one.at - other.at);
}

const DAY = 86_400;

/** Possible steps of a scale, in seconds. */
const scales = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, DAY];

/** Marks of a scale, at most eight, in milliseconds from its beginning. */
export function scaleOf(length: Millis): readonly Millis[] {
  const days = DAY * Math.max(1, Math.ceil(length / (8 * DAY * 1000)));
  const step = 1000 * (scales.find((one) => length / (one * 1000) <= 8) ?? days);
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, index) => index * step);
}

const BAR_HEIGHT = 12;
const ROW_HEIGHT = 15;

/** The time line, with a row for each host, and the time of each host by kind of work. */
export function timelineSection(page: PageState, now: number): Html {
  const timeline = timelineOf(page, now);
  if (timeline.hosts.every(({ tracks }) => tracks.length === 0))
    return html`<p class="none">Not started yet.</p>`;
  const shown = kinds.filter((kind) => timeline.hosts.some(({ shares }) => shares[kind] > 0));
  const marks = timeline.moments.some(({ isBad }) => isBad)
    ? html`<li><i class="mark-bad"></i>fault, or failed end</li>`
    : undefined;
  return html`<ul class="legend">
      ${shown.map((kind) => html`<li><i class="work-${kind}"></i>${workWords[kind]}</li>`)}${marks}
    </ul>
    <div class="timeline">
      ${timeline.hosts.map((host) => hostRow(host, timeline))}${clusterRow(timeline)}${scaleRow(timeline)}
    </div>
    <h3>Time by activity</h3>
    ${sharesTable(timeline, shown)}
    <h3>Longest steps</h3>
    <ol class="longest">
      ${timeline.longest.map(
        ({ host, title, took, work }) =>
          html`<li>
            <i class="work-${work}"></i><b>${host}</b> <span>${title}</span>
            <small>${renderDuration(took)}</small>
          </li>`,
      )}
    </ol>`;
}

const percentOf = ({ from, until }: Timeline, span: number): string =>
  `${((100 * span) / (until - from)).toFixed(3)}%`;

/** A part of a row of the time line. */
interface RowParts {
  readonly content: readonly Html[];
  readonly rows?: number;
  readonly end?: string;
  /** True for a host that is a node, which the end of the installation does not concern. */
  readonly isGood?: boolean;
  /** The end of a host that did not fail by itself. */
  readonly stopped?: string | undefined;
}

/** A row of the time line, with a mark for each bad moment. */
function row(
  timeline: Timeline,
  name: string,
  label: string,
  { content, rows = 1, end = '', isGood = false, stopped }: RowParts,
): Html {
  const height = rows * ROW_HEIGHT;
  const bad = timeline.moments.filter((one) => one.isBad && !(isGood && 'isEnd' in one));
  const marks = bad.map((moment) => {
    const isStopped = 'isEnd' in moment && stopped !== undefined;
    const kind = isStopped ? 'mark-stopped' : 'mark-bad';
    const x = percentOf(timeline, moment.at - timeline.from);
    return html`<rect class="${kind}" x="${x}" y="0" width="2" height="${height}"
      ><title>${isStopped ? stopped : moment.text}</title></rect
    >`;
  });
  return html`<div class="row">
    <b>${name}</b><svg role="img" aria-label="${label}" height="${height}">${content}${marks}</svg
    ><small>${end}</small>
  </div>`;
}

function hostRow(
  { name, tracks, took, shares, isGood, stopped }: Timeline['hosts'][number],
  timeline: Timeline,
): Html {
  const times = kinds
    .filter((kind) => shares[kind] > 0)
    .map((kind) => `${workWords[kind]} ${renderDuration(shares[kind])}`);
  // Below the bars, so that time without information is visible up to the end of the host.
  const { from } = timeline;
  const whole = { work: 'idle', from, until: from + took } as const;
  const idle = `${name}: ${workWords.idle} for ${renderDuration(shares.idle)} of ${renderDuration(took)}`;
  const content = tracks.flatMap((spans, index) => [
    bar(whole, shares.idle > 0 ? idle : `${name}: ${renderDuration(took)}`, index, timeline),
    ...spans.map((span) => bar(span, spanTitle(span, spans, timeline.until), index, timeline)),
  ]);
  const label = [`${name}: ${times.join(', ')}`, ...(stopped === undefined ? [] : [stopped])];
  const rows = Math.max(1, tracks.length);
  return row(timeline, name, label.join(', '), {
    content,
    rows,
    end: renderDuration(took),
    isGood,
    stopped,
  });
}

function spanTitle(span: Span, spans: readonly Span[], end: number): string {
  const { track, from, until = end } = span;
  const where = track === '' ? '' : `${track}: `;
  return `${where}${titleOf(span, spans)}, ${renderDuration(until - from)}`;
}

function bar(
  span: Pick<Span, 'from' | 'until' | 'isBad'> & { readonly work: Kind },
  title: string,
  index: number,
  of: Timeline,
): Html {
  const { work, from, until = of.until } = span;
  const isOpen = span.until === undefined ? ' is-open' : '';
  const isBad = span.isBad === true ? ' is-bad' : '';
  return html`<rect
    class="work-${work}${isOpen}${isBad}"
    x="${percentOf(of, from - of.from)}"
    y="${index * ROW_HEIGHT + 1}"
    width="${percentOf(of, Math.max(0, until - from))}"
    height="${BAR_HEIGHT}"
    rx="2"
    ><title>${title}</title></rect
  >`;
}

/** A dot for each object that became good. */
function clusterRow(timeline: Timeline): Html | undefined {
  const good = timeline.moments.filter(({ isBad }) => !isBad);
  if (good.length === 0) return undefined;
  const content = good.map(({ at, text }) => {
    const after = at - timeline.from;
    return html`<circle class="mark-good" cx="${percentOf(timeline, after)}" cy="7" r="4"
      ><title>${text}, after ${renderDuration(after)}</title></circle
    >`;
  });
  const label = `${good.length} ${good.length === 1 ? 'object' : 'objects'} of the cluster became available`;
  return row(timeline, 'cluster', label, { content });
}

function scaleRow(timeline: Timeline): Html {
  const length = timeline.until - timeline.from;
  const marks = scaleOf(length).map((at) => {
    const x = percentOf(timeline, at);
    // The text of the last mark must stay inside.
    const anchor = at === 0 ? 'start' : at > 0.94 * length ? 'end' : 'middle';
    return html`<g
      ><rect x="${x}" y="0" width="1" height="4" /><text x="${x}" y="16" text-anchor="${anchor}"
        >${at === 0 ? '0' : renderDuration(at)}</text
      ></g
    >`;
  });
  return html`<div class="row scale" aria-hidden="true">
    <b></b><svg height="18">${marks}</svg><small></small>
  </div>`;
}

function sharesTable({ hosts }: Timeline, shown: readonly Kind[]): Html {
  const cell = (share: number, took: number): string =>
    share === 0
      ? '–'
      : `${renderDuration(share)} (${Math.round((100 * share) / Math.max(1, took))} %)`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Time by activity">
    <table>
      <thead>
        <tr>
          <th scope="col">host</th>
          <th scope="col">all (100 %)</th>
          ${shown.map((kind) => html`<th scope="col"><i class="work-${kind}"></i>${workWords[kind]}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${hosts.map(
          ({ name, took, shares }) =>
            html`<tr>
              <th scope="row">${name}</th>
              <td>${renderDuration(took)}</td>
              ${shown.map((kind) => html`<td>${cell(shares[kind], took)}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}
