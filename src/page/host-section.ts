import type { StepState } from '../engine/run-steps.ts';
import { renderDuration } from '../model/duration.ts';
import { type CurrentStep, type HostView, isWaiting } from './host-state.ts';
import { badge, html, type Html, timeSince } from './html.ts';
import { isLadder, railSteps } from './rail.ts';
import type { HostState, RailStep, Track, Work } from './state.ts';

/** A host: its rail, which opens the list of its steps, and its present work. */
export function hostSection(host: HostState, view: HostView): Html {
  const { name, role, hardware } = host;
  const label = `${name}: ${view.done} of ${view.all} steps ended`;
  return html`<header>
      <h3>${name}</h3>
      <span class="role">${role}</span
      >${hardware === '' ? undefined : html`<small>${hardware}</small>`}${badge(view.tone, view.word)}
    </header>
    <details>
      <summary>
        ${railPicture(host, label)}<span class="count"
          >${view.done} of ${view.all} steps<span class="hidden"> of ${name}</span></span
        >
      </summary>
      ${stepList(host)}
    </details>
    <ul class="now">
      ${view.current.map(currentRow)}
    </ul>`;
}

function currentRow({ title, detail, percent, since, tone }: CurrentStep): Html {
  const whole = Math.floor(percent ?? 0);
  const bar = html`<span class="bar"
    ><progress max="100" value="${whole}" aria-label="${title}"></progress> ${whole} %</span
  >`;
  return html`<li class="is-${tone}">
    <span class="what">${title}</span>${percent === undefined ? undefined : bar}<span class="why"
      >${detail}</span
    >${timeSince(since)}
  </li>`;
}

const CELL_HEIGHT = 10;
const ROW_HEIGHT = 14;

/** The states of cells, in the order of their legend. */
const legend: Readonly<Record<string, string>> = {
  finished: 'done',
  running: 'running',
  waiting: 'waits',
  failed: 'failed',
  stopped: 'stopped',
  todo: 'not yet',
};

/** The legend of the rails. */
export const railLegend = html`<ul class="legend" aria-label="Cells of the hosts">
  ${Object.entries(legend).map(([state, word]) => html`<li><i class="cell-${state}"></i>${word}</li>`)}
  <li>click a rail to list its steps</li>
</ul>`;

/** The state of a step as the class of its cell. */
function cellState(step: StepState | undefined, work?: Work): string {
  if (step === undefined) return 'todo';
  return step.state === 'running' && isWaiting(step, work) ? 'waiting' : step.state;
}

/**
 * The rail of a host as a picture of the available width: lanes side by side, with longer cells in
 * a lane of fewer steps. Steps that the configuration leaves out take no space.
 */
function railPicture(host: HostState, label: string): Html {
  const rail = host.rail
    .map((section) =>
      section
        .map(({ name, steps }) => ({ name, steps: steps.filter(({ isActive }) => isActive) }))
        .filter(({ steps }) => steps.length > 0),
    )
    .filter((section) => section.length > 0);
  const widths = rail.map((section) => Math.max(...section.map(({ steps }) => steps.length)));
  const columns = widths.reduce((sum, width) => sum + width, 0);
  const rows = Math.max(1, ...rail.map(({ length }) => length));
  const percent = (cells: number): string => ((100 * cells) / columns).toFixed(3);
  let left = 0;
  const cells = rail.flatMap((section, index) => {
    const [start, width] = [left, widths[index] ?? 0];
    left += width;
    return section.flatMap(({ name, steps }, row) => {
      const y = ((rows - section.length) / 2 + row) * ROW_HEIGHT + 2;
      const each = width / steps.length;
      const full = each - Math.min(0.16, each / 4);
      return steps.map((step, place) => {
        const state = host.steps[step.id];
        const x = percent(start + place * each);
        const rect = (kind: string, size: number): Html =>
          html`<rect
            class="${kind}"
            x="${x}%"
            y="${y}"
            width="${percent(size)}%"
            height="${CELL_HEIGHT}"
            rx="3"
          />`;
        const part = state?.state === 'running' ? (state.percent ?? 0) / 100 : 0;
        return html`<g
          ><title>${cellTitle(step, state, name)}</title
          >${rect(`cell is-${cellState(state, step.work)}`, full)}${
            part > 0 ? rect('part', full * part) : undefined
          }</g
        >`;
      });
    });
  });
  return html`<svg class="rail" role="img" aria-label="${label}" height="${rows * ROW_HEIGHT}">
    ${cells}
  </svg>`;
}

function cellTitle({ title, id }: RailStep, state: StepState | undefined, track: string): string {
  const where = track === '' ? '' : `${track}: `;
  return `${where}${title} (${id}), ${stateText(state)}`;
}

const stateWords: Readonly<Record<StepState['state'], string>> = {
  running: 'running',
  finished: 'done',
  reused: 'done by an earlier run',
  skipped: 'skipped',
  failed: 'failed',
  stopped: 'stopped',
};

function stateText(step: StepState | undefined): string {
  if (step === undefined) return 'not yet';
  const { state, since, until = since } = step;
  const took = until - since < 50 ? '' : ` in ${renderDuration(until - since)}`;
  return `${stateWords[state]}${took}`;
}

/** Every step as text; steps outside of the rail come last. */
function stepList({ rail, steps: states }: HostState): Html {
  const row = (title: string, state: StepState | undefined, track: string, work?: Work): Html =>
    html`<li class="is-${cellState(state, work)}">
      <span>${title}${track === '' ? undefined : html` <small>${track}</small>`}</span>
      <small>${stateText(state)}</small>
    </li>`;
  const rows = rail
    .flat()
    .flatMap(({ name, steps }: Track) =>
      steps
        .filter(({ isActive }) => isActive)
        .map(({ id, title, work }) => row(title, states[id], name, work)),
    );
  const known = new Set(railSteps(rail).map(({ id }) => id));
  const where = isLadder(rail) ? '' : 'in the background';
  const beside = Object.entries(states)
    .filter(([id]) => !known.has(id))
    .map(([, state]) => row(state.title, state, where));
  return html`<ol class="steps">
    ${rows}${beside}
  </ol>`;
}
