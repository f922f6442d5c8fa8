import { renderDuration } from '../model/duration.ts';
import { isWaiting } from './host-view.ts';
import { html, type Html } from './html.ts';
import { isLadder, railSteps } from './rail.ts';
import type { StepState } from '../engine/run-steps.ts';
import type { HostState, Rail, RailStep, Track, Work } from './state.ts';

const cellHeight = 10;
const rowHeight = 14;

/** Steps that the configuration leaves out take no room. */
const activeOf = (rail: Rail): Rail =>
  rail
    .map((section) =>
      section
        .map(({ name, steps }): Track => ({
          name,
          steps: steps.filter(({ isActive }) => isActive),
        }))
        .filter(({ steps }) => steps.length > 0),
    )
    .filter((section) => section.length > 0);

/** A word for where a step is; also the class of its cell. */
export function cellState(step: StepState | undefined, work?: Work): string {
  if (step === undefined) return 'todo';
  return step.state === 'running' && isWaiting(step, work) ? 'waiting' : step.state;
}

/**
 * The rail of a host as a picture that is as wide as there is room. Its steps are listed as text
 * elsewhere.
 */
export function railPicture(host: HostState, label: string): Html {
  const rail = activeOf(host.rail);
  const widths = rail.map((section) => Math.max(...section.map(({ steps }) => steps.length)));
  const columns = Math.max(
    1,
    widths.reduce((sum, width) => sum + width, 0),
  );
  const rows = Math.max(1, ...rail.map(({ length }) => length));
  let column = 0;
  const cells = rail.flatMap((section, index) => {
    const left = column;
    const width = widths[index] ?? 0;
    column += width;
    const top = ((rows - section.length) * rowHeight) / 2;
    return section.flatMap((track, row) =>
      trackCells(track, { host, columns, left, width, top: top + row * rowHeight }),
    );
  });
  return html`<svg class="rail" role="img" aria-label="${label}" height="${rows * rowHeight}">
    ${cells}
  </svg>`;
}

interface Place {
  readonly host: HostState;
  readonly columns: number;
  readonly left: number;
  readonly width: number;
  readonly top: number;
}

/** A short track among longer ones has longer cells. */
function trackCells({ name, steps }: Track, place: Place): readonly Html[] {
  const { host, columns, left, width, top } = place;
  const each = width / steps.length;
  const percent = (cells: number): string => ((100 * cells) / columns).toFixed(3);
  return steps.map((step, index) => {
    const state = host.steps[step.id];
    const gap = Math.min(0.16, each / 4);
    const x = percent(left + index * each);
    const full = each - gap;
    const part = state?.state === 'running' ? (state.percent ?? 0) / 100 : 0;
    const filled =
      part > 0
        ? html`<rect
            class="part"
            x="${x}%"
            y="${top + 2}"
            width="${percent(full * part)}%"
            height="${cellHeight}"
            rx="3"
          />`
        : undefined;
    return html`<g
      ><title>${cellTitle(step, state, name)}</title
      ><rect
        class="cell is-${cellState(state, step.work)}"
        x="${x}%"
        y="${top + 2}"
        width="${percent(full)}%"
        height="${cellHeight}"
        rx="3"
      />${filled}</g
    >`;
  });
}

function cellTitle({ title, id }: RailStep, state: StepState | undefined, track: string): string {
  const where = track === '' ? '' : `${track}: `;
  return `${where}${title} (${id}), ${stateText(state)}`;
}

const words: Readonly<Record<StepState['state'], string>> = {
  running: 'running',
  finished: 'done',
  reused: 'done by an earlier run',
  skipped: 'skipped',
  failed: 'failed',
  stopped: 'stopped',
};

/** Where a step is, and how long it took. */
function stateText(state: StepState | undefined): string {
  if (state === undefined) return 'not yet';
  const { since, until } = state;
  const took =
    until === undefined || until - since < 50 ? '' : ` in ${renderDuration(until - since)}`;
  return `${words[state.state]}${took}`;
}

/** Every step of a host as a list. */
export function stepList(host: HostState): Html {
  const tracks = host.rail.flatMap((section) => section);
  const known = new Set(railSteps(host.rail).map(({ id }) => id));
  const where = isLadder(host.rail) ? '' : 'in the background';
  const beside = Object.entries(host.steps).filter(([id]) => !known.has(id));
  const rows = [
    ...tracks.flatMap(({ name, steps }) =>
      steps
        .filter(({ isActive }) => isActive)
        .map(({ id, title, work }) => stepRow(title, host.steps[id], { track: name, work })),
    ),
    ...beside.map(([, state]) => stepRow(state.title, state, { track: where })),
  ];
  return html`<ol class="steps">
    ${rows}
  </ol>`;
}

const stepRow = (
  title: string,
  state: StepState | undefined,
  { track, work }: { readonly track: string; readonly work?: Work },
): Html =>
  html`<li class="is-${cellState(state, work)}">
    <span>${title}${track === '' ? undefined : html` <small>${track}</small>`}</span>
    <small>${stateText(state)}</small>
  </li>`;
