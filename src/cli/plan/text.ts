import type { Plan, PlannedItem, PlannedStep } from '../../engine/describe.ts';
import { everyStep, renderBounds, renderCommand, renderCounts, renderRerun } from './words.ts';

/** A plan for people at a terminal: it reads like the documentation of the role. */
export function renderPlanText(plan: Plan): string {
  const width = Math.max(0, ...everyStep(plan).map(({ id }) => id.length));
  const lines = [
    `Role ${plan.role}: ${plan.title}`,
    `${renderCounts(plan)}.`,
    '',
    ...plan.items.flatMap((item) => itemLines(item, width)),
    ...asideLines('While these run, in the background:', plan.follow, width),
    ...asideLines('At the end, and after a failure too:', plan.always, width),
    '• step   ! destroys data   ‣ leaves the host   – left out   $ command on the host',
  ];
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

function itemLines(item: PlannedItem, width: number): readonly string[] {
  if (item.kind === 'step') return stepLines(item.step, width);
  return [
    '┬ at the same time',
    ...item.lanes.flatMap(({ name, steps }) => [
      `├─ ${name}`,
      ...steps.flatMap((step) => stepLines(step, width)).map((line) => `│  ${line}`),
    ]),
    '┴ when all of these are through',
    '',
  ];
}

function asideLines(
  heading: string,
  steps: readonly PlannedStep[],
  width: number,
): readonly string[] {
  if (steps.length === 0) return [];
  return [heading, '', ...steps.flatMap((step) => stepLines(step, width))];
}

/** The mark of a step. */
function markOf({ isActive, destroys, leaves }: PlannedStep): string {
  if (!isActive) return '–';
  if (destroys) return '!';
  return leaves ? '‣' : '•';
}

function stepLines(step: PlannedStep, width: number): readonly string[] {
  const head = `${markOf(step)} ${step.id.padEnd(width)}  ${step.title}`;
  if (!step.isActive) return [head, `    only when ${step.onlyWhen ?? 'asked for'}`, ''];
  return [
    head,
    ...factLines(step).map(([name, text]) => `    ${name.padEnd(10)} ${text}`),
    ...step.commands.map((argv) => `    $ ${renderCommand(argv)}`),
    '',
  ];
}

function factLines(step: PlannedStep): readonly (readonly [string, string])[] {
  const rerun = renderRerun(step);
  return [
    ...(step.stage === undefined ? [] : [['reports', step.stage] as const]),
    ...(step.explanation === undefined ? [] : [['chosen', step.explanation] as const]),
    ...(step.needs.length === 0 ? [] : [['needs', step.needs.join(', ')] as const]),
    ...(step.gives === undefined ? [] : [['gives', step.gives] as const]),
    ...(step.waitsFor === undefined ? [] : [['waits for', step.waitsFor] as const]),
    ['takes', renderBounds(step)] as const,
    ...(rerun === undefined ? [] : [['if resumed', rerun] as const]),
  ];
}
