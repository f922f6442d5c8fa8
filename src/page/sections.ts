import { lengthOf } from './client.ts';
import { html, type Html } from './html.ts';
import { type HostView, type NowLine, pageWord, viewOf } from './host-view.ts';
import { railPicture, stepList } from './rail-view.ts';
import type { HostState, ObjectState, PageLine, PageState, Tone } from './state.ts';
import { timelineSection } from './timeline.ts';

/** A section of the page, which is replaced as a whole when it changes. */
export interface PageSection {
  readonly id: string;
  /** Id of the element that it is in. */
  readonly within: string;
  readonly content: Html;
}

const glyphs: Readonly<Record<Tone, string>> = {
  idle: '○',
  busy: '●',
  waiting: '◐',
  good: '✓',
  bad: '✕',
};

/** Every section but the log, in their order. */
export const pageSections = (page: PageState, now: number): readonly PageSection[] => [
  { id: 'state', within: 'top', content: stateSection(page) },
  { id: 'trouble', within: 'top', content: errorSection(page) },
  ...page.hosts.map((host, index) => ({
    id: `host-${index + 1}`,
    within: 'hosts',
    content: hostSection(host),
  })),
  { id: 'objects', within: 'cluster', content: objectsSection(page) },
  { id: 'faults', within: 'injected', content: faultsSection(page) },
  { id: 'timeline', within: 'time', content: timelineSection(page, now) },
];

const badge = (tone: Tone, word: string): Html =>
  html`<span class="badge is-${tone}"><i aria-hidden="true">${glyphs[tone]}</i> ${word}</span>`;

/** A time that the script turns into how long ago it was; without it, the clock. */
const since = (at: number): Html =>
  html`<time class="since" datetime="${new Date(at).toISOString()}" data-since="${at}"
    >${clock(at)}</time
  >`;

const clock = (at: number): string => new Date(at).toISOString().slice(11, 19);

function stateSection(page: PageState): Html {
  const { tone, word } = pageWord(page);
  const { end, hosts, cluster, startedAt } = page;
  const done = hosts.filter((host) => viewOf(host).tone === 'good').length;
  const all = hosts.length;
  const percents = hosts.map((host) => viewOf(host).percent);
  const percent = Math.floor(percents.reduce((sum, one) => sum + one, 0) / Math.max(1, all));
  const took =
    end === undefined ? since(startedAt) : html`<time>${lengthOf(end.at - startedAt)}</time>`;
  const facts = [
    html`<span>${done} of ${all} hosts done</span>`,
    ...(cluster.status === '' ? [] : [html`<span>cluster ${cluster.status}</span>`]),
    html`<span>${took}</span>`,
  ];
  return html`<h1>${page.title}</h1>
    ${page.about === '' ? undefined : html`<p class="about">${page.about}</p>`}
    <p class="facts">${badge(tone, word)}${facts}</p>
    <progress max="100" value="${percent}" aria-label="progress of all hosts">${percent} %</progress
    >${
      end === undefined || end.details.length === 0
        ? undefined
        : html`<ul class="details">
            ${end.details.map((text) => html`<li>${text}</li>`)}
          </ul>`
    }`;
}

const errorSection = ({ lastError, at }: PageState): Html =>
  lastError === undefined
    ? html``
    : html`<p class="trouble" role="alert">
        ${lastError}. What is shown is as of ${clock(at)} UTC.
      </p>`;

function hostSection(host: HostState): Html {
  const view = viewOf(host);
  const { name, role } = host;
  const label = `${name}: ${view.done} of ${view.all} steps ended`;
  return html`<header>
      <h3>${name}</h3>
      <span class="role">${role}</span>${badge(view.tone, view.word)}
    </header>
    ${railPicture(host, label)} ${nowList(view)}
    <details>
      <summary>${view.done} of ${view.all} steps<span class="hidden"> of ${name}</span></summary>
      ${stepList(host)}
    </details>`;
}

const nowList = ({ now }: HostView): Html =>
  now.length === 0
    ? html``
    : html`<ul class="now">
        ${now.map(nowRow)}
      </ul>`;

function nowRow({ title, detail, percent, since: at, tone }: NowLine): Html {
  const bar =
    percent === undefined
      ? undefined
      : html`<span class="bar"
          ><progress max="100" value="${Math.floor(percent)}" aria-label="${title}"></progress>
          ${Math.floor(percent)} %</span
        >`;
  return html`<li class="is-${tone}">
    <span class="what">${title}</span>${bar}<span class="why">${detail}</span>${since(at)}
  </li>`;
}

/** Kinds in the order in which they are looked for; others come behind them. */
const kindOrder = [
  ...['Node', 'ClusterVersion', 'ClusterOperator', 'Operator', 'MachineOSConfig', 'MachineOSBuild'],
  ...['MachineConfigPool', 'CertificateSigningRequest', 'MachineConfig'],
];

const rankOf = (kind: string): number => {
  const rank = kindOrder.indexOf(kind);
  return rank === -1 ? kindOrder.length : rank;
};

function objectsSection({ objects, cluster }: PageState): Html {
  const info = cluster.info === '' ? undefined : html`<p class="none">${cluster.info}</p>`;
  if (objects.length === 0)
    return html`${info}
      <p class="none">No object of the cluster yet.</p>`;
  const kinds = [...new Set(objects.map(({ kind }) => kind))].toSorted(
    (one, other) => rankOf(one) - rankOf(other),
  );
  const groups = kinds.map((kind) =>
    kindGroup(
      kind,
      objects.filter((one) => one.kind === kind),
    ),
  );
  return html`${info}
    <div class="kinds" tabindex="0" role="region" aria-label="Objects of the cluster">
      ${groups}
    </div>`;
}

/** So many objects of a kind are listed; of the others there is a count. */
const listed = 40;

function kindGroup(kind: string, objects: readonly ObjectState[]): Html {
  const good = objects.filter(({ tone }) => tone === 'good').length;
  const rest = objects.length - listed;
  return html`<h3>${kind} <small>${good} of ${objects.length}</small></h3>
    <ul class="objects">
      ${objects.slice(-listed).map(objectRow)}${
        rest > 0 ? html`<li><small>and ${rest} before these</small></li>` : undefined
      }
    </ul>`;
}

const objectRow = ({ name, state, tone }: ObjectState): Html =>
  html`<li class="is-${tone}">
    <i aria-hidden="true">${glyphs[tone]}</i> <b>${name}</b> <small>${state}</small>
  </li>`;

function faultsSection({ faults, startedAt }: PageState): Html {
  return html`<ul class="objects">
    ${faults.map(
      ({ at, where, what, times }) =>
        html`<li class="is-bad">
          <i aria-hidden="true">✕</i> <b>${where}</b>
          <small
            >${what}${times > 1 ? `, ${times} times` : ''}, after ${lengthOf(at - startedAt)}</small
          >
        </li>`,
    )}
  </ul>`;
}

/** Lines of the log as list items. */
export const logLines = (lines: readonly PageLine[]): Html =>
  html`${lines.map(
    ({ n, at, source, level, text }) =>
      html`<li id="l${n}" class="level-${level}">
        <time>${clock(at)}</time> <b>${source}</b> <span>${text}</span>
      </li>`,
  )}`;
