import type { Plan, PlannedItem, PlannedStep } from '../engine/describe.ts';
import { shownText } from '../config/settings.ts';
import { MASK, type Secret } from '../model/secret.ts';
import type { planFormats } from './commands.ts';
import { renderPlanJson } from './plan/document.ts';
import { renderPlanDot } from './plan/dot.ts';
import { renderPlanMarkdown } from './plan/markdown.ts';
import { renderPlanText } from './plan/text.ts';

/** A form that a plan can be printed in. */
export type PlanFormat = (typeof planFormats)[number];

const renderers: Readonly<Record<PlanFormat, (plan: Plan) => string>> = {
  text: renderPlanText,
  json: renderPlanJson,
  dot: renderPlanDot,
  markdown: renderPlanMarkdown,
};

/** Prints a plan in one of its forms; secrets and passwords in URLs are masked. */
export const renderPlan = (
  plan: Plan,
  format: PlanFormat,
  secrets: readonly (Secret | undefined)[] = [],
): string => renderers[format](maskPlan(plan, secrets));

function maskPlan(plan: Plan, secrets: readonly (Secret | undefined)[]): Plan {
  const hidden = secrets.flatMap((secret) =>
    secret === undefined || secret.isEmpty ? [] : [secret.reveal()],
  );
  const word = (text: string): string =>
    hidden.reduce((shown, value) => shown.replaceAll(value, MASK), shownText(text));
  const step = (planned: PlannedStep): PlannedStep => ({
    ...planned,
    ...(planned.explanation === undefined ? {} : { explanation: word(planned.explanation) }),
    commands: planned.commands.map((argv) => argv.map(word)),
  });
  const item = (planned: PlannedItem): PlannedItem =>
    planned.kind === 'step'
      ? { kind: 'step', step: step(planned.step) }
      : {
          kind: 'lanes',
          lanes: planned.lanes.map(({ name, steps }) => ({ name, steps: steps.map(step) })),
        };
  return {
    ...plan,
    items: plan.items.map(item),
    follow: plan.follow.map(step),
    always: plan.always.map(step),
  };
}
