import type { Plan, PlannedItem, PlannedStep } from '../../engine/describe.ts';
import { renderBounds, renderCommand, renderCounts } from './words.ts';

/** A plan as a section of a Markdown document. */
export function renderPlanMarkdown(plan: Plan): string {
  const lines = [
    `## Role ${plan.role}`,
    '',
    `${plan.title}. ${renderCounts(plan)}.`,
    '',
    ...numbered(plan.items),
    ...aside('While these run, in the background:', plan.follow),
    ...aside('At the end, and after a failure too:', plan.always),
  ];
  return `${lines.join('\n').trimEnd()}\n`;
}

function numbered(items: readonly PlannedItem[]): readonly string[] {
  return items.flatMap((item, index) => {
    const number = `${index + 1}. `;
    if (item.kind === 'step') return stepLines(item.step, number);
    return [
      `${number}At the same time:`,
      ...item.lanes.flatMap(({ name, steps }) => [
        `   - lane ${name}:`,
        ...steps.flatMap((step) => stepLines(step, '- ')).map((line) => `     ${line}`),
      ]),
    ];
  });
}

function aside(heading: string, steps: readonly PlannedStep[]): readonly string[] {
  if (steps.length === 0) return [];
  return ['', heading, '', ...steps.flatMap((step) => stepLines(step, '- '))];
}

function stepLines(step: PlannedStep, bullet: string): readonly string[] {
  const indent = ' '.repeat(bullet.length);
  const marks = [
    ...(step.destroys ? ['**destroys data**'] : []),
    ...(step.leaves ? ['leaves the host'] : []),
    ...(step.isActive ? [] : [`left out: only when ${step.onlyWhen ?? 'asked for'}`]),
  ];
  const head = `${bullet}\`${step.id}\` ${escaped(step.title)}${
    marks.length > 0 ? ` (${marks.join(', ')})` : ''
  }`;
  if (!step.isActive) return [head];
  const facts = [
    ...(step.stage === undefined ? [] : [`reports "${step.stage}"`]),
    ...(step.explanation === undefined ? [] : [`chosen: ${escaped(step.explanation)}`]),
    ...(step.waitsFor === undefined ? [] : [`waits for ${escaped(step.waitsFor)}`]),
    renderBounds(step),
  ];
  return [
    head,
    `${indent}<br>${facts.join('; ')}`,
    ...step.commands.map((argv) => `${indent}<br>\`${renderCommand(argv)}\``),
  ];
}

const escaped = (text: string): string => text.replaceAll(/[<>|*_`]/g, (mark) => `\\${mark}`);
