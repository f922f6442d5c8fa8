import { renderDuration } from '../model/duration.ts';
import { hostSection, railLegend } from './host-section.ts';
import { failedFirst, hasFailed, pageWord, stopCause, timesOf, viewOf } from './host-state.ts';
import { badge, clock, glyphs, html, type Html, timeSince } from './html.ts';
import type { HostState, ObjectState, PageLine, PageState } from './state.ts';
import { timelineSection } from './timeline.ts';

/** A section of the page. A change replaces the whole section. */
export interface PageSection {
  readonly id: string;
  /** Id of the parent element. */
  readonly within: string;
  readonly content: Html;
}

/** All sections except the log, in the order of the page. */
export function pageSections(page: PageState, now: number): readonly PageSection[] {
  const { hosts } = page;
  const times = timesOf(hosts);
  const cause = stopCause(page);
  return [
    { id: 'state', within: 'top', content: stateSection(page) },
    { id: 'last-error', within: 'intro', content: sourceSection(page) },
    { id: 'failures', within: 'intro', content: failuresSection(page) },
    { id: 'legend', within: 'rails', content: hosts.length === 0 ? html`` : railLegend },
    ...failedFirst(hosts).map((host) => ({
      id: `host-${hosts.indexOf(host) + 1}`,
      within: 'hosts',
      content: hostSection(host, viewOf(host, times, cause)),
    })),
    { id: 'objects', within: 'cluster', content: objectsSection(page) },
    { id: 'faults', within: 'injected', content: faultsSection(page) },
    { id: 'timeline', within: 'time', content: timelineSection(page, now) },
  ];
}

function stateSection(page: PageState): Html {
  const { tone, word } = pageWord(page);
  const { end, cluster, startedAt, usual, title } = page;
  const views = page.hosts.map((host) => viewOf(host));
  const done = views.filter((view) => view.tone === 'good').length;
  const sum = views.reduce((total, view) => total + view.percent, 0);
  const percent = Math.floor(sum / Math.max(1, views.length));
  const took =
    end === undefined
      ? timeSince(startedAt)
      : html`<time>${renderDuration(end.at - startedAt)}</time>`;
  const isUsualShown = end === undefined && usual !== undefined;
  const isOver = tone === 'good' || tone === 'bad';
  return html`<div class="heading">
      <h1 title="${title}">${title}</h1>
      <p class="facts">
        ${badge(tone, word)}<span>${done} of ${views.length} hosts done</span>${
          views.length === 0 ? undefined : html`<span>${percent} % of all steps</span>`
        }${
          cluster.status === '' ? undefined : html`<span>${serviceText(page)}</span>`
        }<span>${took}</span>${
          isUsualShown ? html`<span>usually about ${renderDuration(usual)}</span>` : undefined
        }
      </p>
    </div>
    <progress
      class="${isOver ? `is-${tone}` : ''}"
      max="100"
      value="${percent}"
      aria-label="steps of all hosts"
    >
      ${percent} %
    </progress>`;
}

const overStatuses: readonly string[] = ['error', 'cancelled', 'installed'];

/** Whether a host has failed, and the service shows neither that nor an end of the cluster. */
const isUnheard = ({ hosts, cluster }: PageState): boolean =>
  !['', ...overStatuses].includes(cluster.status) &&
  hosts.some((host) => hasFailed(host) && host.status !== 'error');

/** The cluster as the service sees it. */
const serviceText = (page: PageState): string =>
  isUnheard(page) ? 'the service does not know of the failure' : `cluster ${page.cluster.status}`;

function sourceSection({ lastError, answeredAt, refusal }: PageState): Html {
  if (lastError === undefined) return html``;
  const away = answeredAt === undefined ? 'not reached yet' : `away since ${clock(answeredAt)} UTC`;
  return html`<p class="last-error" role="alert">${refusal ?? away}: ${lastError}</p>`;
}

/** A failure with the text that its button copies. */
interface FailureBox {
  /** Name of the failed host, operator or cluster. */
  readonly name: string;
  readonly title: string;
  readonly about: string;
  readonly lines: readonly string[];
}

/** Maximum number of shown failures; the rest is a count. */
const FAILURES_SHOWN = 8;

/** The failures of hosts; if no host failed, the failure of the cluster. */
function failuresSection(page: PageState): Html {
  const { about, hosts, cluster, end } = page;
  const ofHosts = failedFirst(hosts).filter(hasFailed).flatMap(hostBox);
  const boxes = ofHosts.length === 0 ? clusterBox(page) : ofHosts;
  const rest = boxes.length - FAILURES_SHOWN;
  const details = (end?.details ?? []).filter((text) => text !== cluster.info);
  return html`${about === '' ? undefined : html`<p class="about">${about}</p>`}${boxes
    .slice(0, FAILURES_SHOWN)
    .map(
      ({ name, title, about: more, lines }) =>
        html`<div class="failure">
          <h2>${title} <small>${more}</small></h2>
          ${lines.map((line) => html`<p>${line}</p>`)}
          <button type="button" data-copy="${[title, ...lines].join('\n')}">
            Copy<span class="hidden"> the failure of ${name}</span>
          </button>
        </div>`,
    )}${rest > 0 ? html`<p>and ${rest} more hosts</p>` : undefined}${
    details.length === 0
      ? undefined
      : html`<ul class="details">
          ${details.map((text) => html`<li>${text}</li>`)}
        </ul>`
  }${(end?.notes ?? []).map((text) => html`<p class="none">${text}</p>`)}`;
}

function hostBox({ name, role, steps, failure }: HostState): readonly FailureBox[] {
  if (failure === undefined) return [];
  const { code, message, why, hint, logs } = failure;
  const step = Object.values(steps).find(({ state }) => state === 'failed')?.title;
  const lines = [
    `failed: ${code === '' ? '' : `${code}: `}${message}`,
    ...(why === '' ? [] : [`why: ${why}`]),
    ...(hint === '' ? [] : [`next: ${hint}`]),
    ...(logs === '' ? [] : [`logs: ${logs}`]),
  ];
  return [{ name, title: step === undefined ? name : `${name}, ${step}`, about: role, lines }];
}

const operatorKinds: ReadonlySet<string> = new Set(['Operator', 'ClusterOperator']);

/** The failure of an installation without a failed host, with its degraded operators. */
function clusterBox({ cluster, objects }: PageState): readonly FailureBox[] {
  const { status, info, logs = '' } = cluster;
  if (status !== 'error') return [];
  const bad = objects.filter(({ kind, tone }) => operatorKinds.has(kind) && tone === 'bad');
  // The service has the ClusterVersion among the operators, for which it only waits.
  const first = bad.find(({ name }) => name !== 'ClusterVersion');
  const next =
    first === undefined
      ? 'oc get clusterversion,clusteroperators'
      : `oc describe clusteroperator ${first.name}`;
  const lines = [
    `failed: ${info === '' ? status : info}`,
    ...bad.map(({ name, state }) => `operator ${name}: ${state}`),
    `next: ${next}`,
    ...(logs === '' ? [] : [`logs: ${logs}`]),
  ];
  const title = first === undefined ? 'cluster' : `operator ${first.name}`;
  return [{ name: title, title, about: `cluster ${status}`, lines }];
}

/** Kinds in the order in which readers look for them; other kinds follow. */
const kindOrder = [
  'Node',
  'ClusterVersion',
  'ClusterOperator',
  'Operator',
  'MachineOSConfig',
  'MachineOSBuild',
  'MachineConfigPool',
  'CertificateSigningRequest',
  'MachineConfig',
];

/** Maximum number of listed objects of a kind; the rest is a count. */
const OBJECTS_LISTED = 40;

function objectsSection(page: PageState): Html {
  const { objects, cluster, end } = page;
  const { status } = cluster;
  const info = isUnheard(page) ? 'The service does not know of the failure.' : cluster.info;
  const word = pageWord({ end: undefined, hosts: [], cluster, lastError: undefined });
  const isOver = overStatuses.includes(status);
  const outcome = isOver ? html`<p>${badge(word.tone, `cluster ${status}`)}</p>` : undefined;
  const kinds = [...new Set([...kindOrder, ...objects.map(({ kind }) => kind)])];
  const groups = kinds
    .map((kind) => objects.filter((one) => one.kind === kind))
    .filter(({ length }) => length > 0)
    .map((group) => kindGroup(group, end !== undefined));
  return html`${outcome}${info === '' ? undefined : html`<p class="none">${info}</p>`}${
    groups.length === 0
      ? html`<p class="none">
          No API server of the cluster ${end === undefined ? 'has been seen yet' : 'was seen'}.
        </p>`
      : html`<div class="kinds" tabindex="0" role="region" aria-label="Objects of the cluster">
          ${groups}
        </div>`
  }`;
}

/** A list of objects of a kind; after the end, none of them is shown as in progress. */
function kindGroup(objects: readonly ObjectState[], hasEnded: boolean): Html {
  const good = objects.filter(({ tone }) => tone === 'good').length;
  const rest = objects.length - OBJECTS_LISTED;
  return html`<h3>${objects[0]?.kind} <small>${good} of ${objects.length}</small></h3>
    <ul class="objects">
      ${objects.slice(-OBJECTS_LISTED).map(({ name, state, tone: last }) => {
        const tone = hasEnded && (last === 'busy' || last === 'waiting') ? 'idle' : last;
        return html`<li class="is-${tone}">
          <i aria-hidden="true">${glyphs[tone]}</i> <b>${name}</b> <small>${state}</small>
        </li>`;
      })}${rest > 0 ? html`<li><small>and ${rest} before these</small></li>` : undefined}
    </ul>`;
}

/** Without faults there is no heading, and the panel is hidden. */
const faultsSection = ({ faults, startedAt }: PageState): Html =>
  faults.length === 0
    ? html``
    : html`<h2>Faults that the lab injects</h2>
        <ul class="objects">
          ${faults.map(({ at, where, what, times }) => {
            const count = times > 1 ? `, ${times} times` : '';
            return html`<li class="is-bad">
              <i aria-hidden="true">✕</i> <b>${where}</b>
              <small>${what}${count}, after ${renderDuration(at - startedAt)}</small>
            </li>`;
          })}
        </ul>`;

/**
 * Lines of the log as list items; after a restart of the program, other lines have the same
 * numbers.
 */
export const logLines = (lines: readonly PageLine[]): Html =>
  html`${lines.map(
    ({ n, at, source, level, text }) =>
      html`<li id="l${n}-${at}" class="level-${level}">
        <time>${clock(at)}</time> <b>${source}</b> <span>${text}</span>
      </li>`,
  )}`;
