import type { Plan, PlannedItem, PlannedStep } from '../engine/describe.ts';
import { renderDuration } from '../model/duration.ts';
import { shellQuoted, wrapped } from './messages.ts';

/** A plan for people at a terminal: it reads like the documentation of the role. */
export function renderPlanText(plan: Plan): string {
  const width = Math.max(0, ...everyStep(plan).map(({ id }) => id.length));
  const lines = [
    `Role ${plan.role}: ${plan.title}`,
    `${renderCounts(plan)}.`,
    '',
    ...plan.items.flatMap((item) => itemLines(item, width)),
    ...sectionLines('Meanwhile, in the background:', plan.follow, width),
    ...sectionLines('At the end, also after a failure:', plan.always, width),
    '• step   ! destroys data   ‣ reboots the host   – skipped   $ command on the host',
  ];
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

function itemLines(item: PlannedItem, width: number): readonly string[] {
  if (item.kind === 'step') return textOfStep(item.step, width);
  return [
    '┬ in parallel',
    ...item.lanes.flatMap(({ name, steps }) => [
      `├─ ${name}`,
      ...steps.flatMap((step) => textOfStep(step, width)).map((line) => `│  ${line}`),
    ]),
    '┴ after all lanes finish',
    '',
  ];
}

function sectionLines(
  heading: string,
  steps: readonly PlannedStep[],
  width: number,
): readonly string[] {
  if (steps.length === 0) return [];
  return [heading, '', ...steps.flatMap((step) => textOfStep(step, width))];
}

/** The mark of a step. */
function markOf({ isActive, effect }: PlannedStep): string {
  if (!isActive) return '–';
  if (effect === 'destroys') return '!';
  return effect === 'leaves' ? '‣' : '•';
}

function textOfStep(step: PlannedStep, width: number): readonly string[] {
  const head = `${markOf(step)} ${step.id.padEnd(width)}  ${step.title}`;
  if (!step.isActive) {
    const reason = wrapped(`only when ${step.onlyWhen ?? 'asked for'}`, factWidth);
    return [head, ...reason.map((line) => `    ${line}`), ''];
  }
  return [
    head,
    ...factLines(step).flatMap(([name, text]) =>
      wrapped(text, factWidth).map(
        (line, index) => `    ${(index === 0 ? name : '').padEnd(10)} ${line}`,
      ),
    ),
    ...step.commands.filter((argv) => !isOpen(argv)).map((argv) => `    $ ${renderCommand(argv)}`),
    '',
  ];
}

/** What fits beside the names of the facts of a step in a lane, in 100 columns. */
const factWidth = 82;

function factLines(step: PlannedStep): readonly (readonly [string, string])[] {
  const programs = programsBeside(step);
  return [
    ...(step.stage === undefined ? [] : [['reports', step.stage] as const]),
    ...explanationLine(step),
    ...(step.needs.length === 0 ? [] : [['needs', step.needs.join(', ')] as const]),
    ...(step.gives === undefined ? [] : [['gives', step.gives] as const]),
    ...(programs.length === 0 ? [] : [['runs', programs.join(', ')] as const]),
    ['takes', renderBounds(step)] as const,
    ...(step.effect === 'locks' ? [['if resumed', 'runs again'] as const] : []),
  ];
}

/** What was chosen, or what the step waits for. */
function explanationLine({ explanation }: PlannedStep): readonly (readonly [string, string])[] {
  const waits = 'waits for';
  if (explanation === undefined) return [];
  return explanation.startsWith(waits)
    ? [[waits, explanation.slice(waits.length + 1)]]
    : [['chosen', explanation]];
}

/** An argv as a person would type it, for reading only. */
export const renderCommand = (argv: readonly string[]): string => argv.map(quoted).join(' ');

const quoted = (word: string): string =>
  /^[\w@%+=:,./<>*-]+$/.test(word) ? word : shellQuoted(word);

/** Whether the arguments of a command depend on what the step finds. */
const isOpen = ([, ...args]: readonly string[]): boolean => args.join(' ') === '…';

/** The programs of a step that none of its shown commands names. */
const programsBeside = ({ commands, programs }: PlannedStep): readonly string[] =>
  programs.filter((program) => !commands.some((argv) => argv[0] === program && !isOpen(argv)));

/** How long a step may take, and how often it is tried. */
export const renderBounds = ({ limit, attempts }: PlannedStep): string =>
  `at most ${renderDuration(limit)}${attempts > 1 ? `, tried up to ${attempts} times` : ''}`;

/** Every step of a plan, lanes one after the other. */
export const everyStep = ({ items, follow, always }: Plan): readonly PlannedStep[] => [
  ...items.flatMap((item) =>
    item.kind === 'step' ? [item.step] : item.lanes.flatMap(({ steps }) => steps),
  ),
  ...follow,
  ...always,
];

/** How many steps there are, how many are skipped and how many destroy data, in one sentence. */
export function renderCounts(plan: Plan): string {
  const steps = everyStep(plan);
  const active = steps.filter(({ isActive }) => isActive);
  const destroying = active.filter(({ effect }) => effect === 'destroys');
  const skipped = steps.length - active.length;
  return [
    `${active.length} ${active.length === 1 ? 'step' : 'steps'}`,
    ...(skipped > 0 ? [`${skipped} skipped by this configuration`] : []),
    destroying.length === 0 ? 'none destroys data' : `${destroying.length} can destroy data`,
  ].join(', ');
}
