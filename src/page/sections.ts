import { renderDuration } from '../model/duration.ts';
import { lengthOf } from './client.ts';
import { html, type Html } from './html.ts';
import {
  type HostView,
  type NowLine,
  pageWord,
  type StepTimes,
  timesOf,
  viewOf,
} from './host-view.ts';
import { railPicture, stepList } from './rail-view.ts';
import type { HostFailure, HostState, ObjectState, PageLine, PageState, Tone } from './state.ts';
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
  { id: 'trouble', within: 'intro', content: errorSection(page) },
  { id: 'failures', within: 'intro', content: failuresSection(page) },
  ...hostSections(page),
  { id: 'objects', within: 'cluster', content: objectsSection(page) },
  { id: 'faults', within: 'injected', content: faultsSection(page) },
  { id: 'timeline', within: 'time', content: timelineSection(page, now) },
];

function hostSections({ hosts }: PageState): readonly PageSection[] {
  const took = timesOf(hosts);
  return hosts.map((host, index) => ({
    id: `host-${index + 1}`,
    within: 'hosts',
    content: hostSection(host, took),
  }));
}

const badge = (tone: Tone, word: string): Html =>
  html`<span class="badge is-${tone}" title="${word}"
    ><i aria-hidden="true">${glyphs[tone]}</i> ${word}</span
  >`;

/** A time that the script turns into how long ago it was; without it, the clock. */
const since = (at: number): Html =>
  html`<time class="since" datetime="${new Date(at).toISOString()}" data-since="${at}"
    >${clock(at)}</time
  >`;

const clock = (at: number): string => new Date(at).toISOString().slice(11, 19);

function stateSection(page: PageState): Html {
  const { tone, word } = pageWord(page);
  const { end, hosts, cluster, startedAt, usual } = page;
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
    ...(end !== undefined || usual === undefined
      ? []
      : [html`<span>usually about ${renderDuration(usual)}</span>`]),
  ];
  const isOver = tone === 'good' || tone === 'bad';
  return html`<div class="heading">
      <h1 title="${page.title}">${page.title}</h1>
      <p class="facts">${badge(tone, word)}${facts}</p>
    </div>
    <progress
      class="${isOver ? `is-${tone}` : ''}"
      max="100"
      value="${percent}"
      aria-label="progress of all hosts"
    >
      ${percent} %
    </progress>`;
}

function errorSection({ lastError, answeredAt, refusal }: PageState): Html {
  if (lastError === undefined) return html``;
  const away = answeredAt === undefined ? 'not reached yet' : `away since ${clock(answeredAt)} UTC`;
  return html`<p class="trouble" role="alert">${refusal ?? away}: ${lastError}</p>`;
}

/** So many failures are shown; of the others there is a count. */
const failuresShown = 8;

/** What failed, why, and what to do. */
function failuresSection({ about, hosts, end }: PageState): Html {
  const failed = hosts.flatMap(({ name, role, steps, failure }) =>
    failure === undefined ? [] : [{ name, role, steps, failure }],
  );
  const rest = failed.length - failuresShown;
  return html`${about === '' ? undefined : html`<p class="about">${about}</p>`}${failed.slice(0, failuresShown).map(failureBox)}${
    rest > 0 ? html`<p>and ${rest} more hosts</p>` : undefined
  }${
    end === undefined || end.details.length === 0
      ? undefined
      : html`<ul class="details">
          ${end.details.map((text) => html`<li>${text}</li>`)}
        </ul>`
  }`;
}

type FailedHost = Pick<HostState, 'name' | 'role' | 'steps'> & { readonly failure: HostFailure };

function failureBox({ name, role, steps, failure }: FailedHost): Html {
  const { code, message, hint, logs } = failure;
  const step = Object.values(steps).find(({ state }) => state === 'failed')?.title;
  const where = step === undefined ? name : `${name}, ${step}`;
  const lines = [
    `failed: ${code === '' ? '' : `${code}: `}${message}`,
    ...(hint === '' ? [] : [`next: ${hint}`]),
    ...(logs === '' ? [] : [`logs: ${logs}`]),
  ];
  return html`<div class="failure">
    <h2>${where} <small>${role}</small></h2>
    ${lines.map((line) => html`<p>${line}</p>`)}
    <button type="button" data-copy="${[where, ...lines].join('\n')}">
      Copy<span class="hidden"> the failure of ${name}</span>
    </button>
  </div>`;
}

function hostSection(host: HostState, took: StepTimes): Html {
  const view = viewOf(host, took);
  const { name, role, hardware } = host;
  const label = `${name}: ${view.done} of ${view.all} steps ended`;
  return html`<header>
      <h3>${name}</h3>
      <span class="role">${role}</span
      >${hardware === '' ? undefined : html`<small>${hardware}</small>`}${badge(view.tone, view.word)}
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

function objectsSection(page: PageState): Html {
  const { objects, cluster, end } = page;
  const outcome = end === undefined ? undefined : clusterOutcome(page);
  const isShown = outcome === undefined && cluster.info !== '';
  const info = isShown ? html`<p class="none">${cluster.info}</p>` : undefined;
  if (objects.length === 0)
    return html`${info}
      <p class="none">No object of the cluster${end === undefined ? ' yet' : ''}.</p>
      ${outcome}`;
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
    </div>
    ${outcome}`;
}

const operatorKinds: ReadonlySet<string> = new Set(['Operator', 'ClusterOperator']);

/** What became of the cluster, with the operators that never became available. */
function clusterOutcome({ cluster, end, objects }: PageState): Html {
  const { status, info } = cluster;
  const ending = pageWord({ end: undefined, hosts: [], cluster, lastError: undefined });
  const isEnded = ['error', 'cancelled', 'installed'].includes(status);
  const tone = isEnded ? ending.tone : end?.isGood === true ? 'good' : 'bad';
  const missing = objects.filter(
    ({ kind, goodAt }) => tone === 'bad' && operatorKinds.has(kind) && goodAt === undefined,
  );
  return html`<div class="outcome">
    <p>${badge(tone, status === '' ? (end?.text ?? '') : `cluster ${status}`)}</p>
    ${info === '' ? undefined : html`<p>${info}</p>`}
    ${missing.map(({ name, state }) => html`<p>${name} never became available: ${state}</p>`)}
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

/**
 * Lines of the log as list items; of a program that was started again, others have the same
 * numbers.
 */
export const logLines = (lines: readonly PageLine[]): Html =>
  html`${lines.map(
    ({ n, at, source, level, text }) =>
      html`<li id="l${n}-${at}" class="level-${level}">
        <time>${clock(at)}</time> <b>${source}</b> <span>${text}</span>
      </li>`,
  )}`;
