import { shellQuoted } from '../shell-word.ts';
import type { Plan, PlannedStep } from '../../engine/describe.ts';
import { renderDuration } from '../../model/duration.ts';

/** An argv as a person would type it; only for reading, nothing is run from it. */
export const renderCommand = (argv: readonly string[]): string => argv.map(quoted).join(' ');

const quoted = (word: string): string =>
  /^[\w@%+=:,./<>*-]+$/.test(word) ? word : shellQuoted(word);

/** How long a step may take, and how often it is tried. */
export const renderBounds = ({ limit, attempts }: PlannedStep): string =>
  `at most ${renderDuration(limit)}${attempts > 1 ? `, tried up to ${attempts} times` : ''}`;

const rerunWords = {
  safe: undefined,
  probe: 'looks first whether it was done',
  never: 'a person has to look first',
  always: 'runs again',
} as const;

/** What happens to a step when an earlier run stopped inside it; undefined: it runs again. */
export const renderRerun = ({ rerun }: PlannedStep): string | undefined => rerunWords[rerun];

/** The steps of the main line, lanes one after the other. */
const mainSteps = ({ items }: Plan): readonly PlannedStep[] =>
  items.flatMap((item) =>
    item.kind === 'step' ? [item.step] : item.lanes.flatMap(({ steps }) => steps),
  );

/** Every step of a plan. */
export const everyStep = (plan: Plan): readonly PlannedStep[] => [
  ...mainSteps(plan),
  ...plan.follow,
  ...plan.always,
];

/** How many steps there are, what is left out and what destroys, in one sentence. */
export function renderCounts(plan: Plan): string {
  const steps = everyStep(plan);
  const active = steps.filter(({ isActive }) => isActive);
  const destroying = active.filter(({ destroys }) => destroys);
  const leftOut = steps.length - active.length;
  return [
    `${active.length} ${active.length === 1 ? 'step' : 'steps'}`,
    ...(leftOut > 0 ? [`${leftOut} left out by this configuration`] : []),
    destroying.length === 0 ? 'none destroys data' : `${destroying.length} can destroy data`,
  ].join(', ');
}
