import type { Plan, PlannedStep } from '../engine/describe.ts';
import { renderDuration } from '../model/duration.ts';
import { shellQuoted, wrapped } from './messages.ts';

/** A plan for people at a terminal, in the style of the role's documentation. */
export function renderPlanText(plan: Plan): string {
  const steps = everyStep(plan);
  const width = Math.max(0, ...steps.map(({ id }) => id.length));
  const render = (some: readonly PlannedStep[]): readonly string[] =>
    some.flatMap((step) => stepLines(step, width));
  const active = steps.filter(({ isActive }) => isActive);
  const skipped = steps.length - active.length;
  const destroying = active.filter(({ effect }) => effect === 'destroys').length;
  const counts = [`${active.length} ${active.length === 1 ? 'step' : 'steps'}`];
  if (skipped > 0) counts.push(`${skipped} skipped by this configuration`);
  counts.push(destroying === 0 ? 'none destroys data' : `${destroying} can destroy data`);
  const lines = [`Role ${plan.role}: ${plan.title}`, `${counts.join(', ')}.`, ''];
  for (const item of plan.items) {
    if (item.kind === 'step') {
      lines.push(...render([item.step]));
      continue;
    }
    lines.push('┬ in parallel');
    for (const { name, steps: own } of item.lanes)
      lines.push(`├─ ${name}`, ...render(own).map((line) => `│  ${line}`));
    lines.push('┴ after all lanes finish', '');
  }
  if (plan.follow.length > 0)
    lines.push('Meanwhile, in the background:', '', ...render(plan.follow));
  if (plan.always.length > 0)
    lines.push('At the end of the run, and after a failure:', '', ...render(plan.always));
  lines.push('• step   ! destroys data   ‣ reboots the host   – skipped   $ command on the host');
  return lines.map((line) => `${line.trimEnd()}\n`).join('');
}

/** Room beside the names of the facts of a step in a lane, in 100 columns. */
const factWidth = 82;

function stepLines(step: PlannedStep, width: number): readonly string[] {
  const { id, title, isActive, effect, onlyWhen = 'asked for' } = step;
  const head = `${id.padEnd(width)}  ${title}`;
  if (!isActive) {
    const reason = wrapped(`only when ${onlyWhen}`, factWidth);
    return [`– ${head}`, ...reason.map((line) => `    ${line}`), ''];
  }
  const mark = effect === 'destroys' ? '!' : effect === 'leaves' ? '‣' : '•';
  // The arguments of an open command depend on the state that the step finds.
  const shown = step.commands.filter(([, ...args]) => args.join(' ') !== '…');
  return [
    `${mark} ${head}`,
    ...factsOf(step, shown).flatMap(([name, text]) =>
      wrapped(text, factWidth).map(
        (line, index) => `    ${(index === 0 ? name : '').padEnd(10)} ${line}`,
      ),
    ),
    // As a person would type the command; for reading only.
    ...shown.map((argv) => `    $ ${argv.map(quoted).join(' ')}`),
    '',
  ];
}

const quoted = (word: string): string =>
  /^[\w@%+=:,./<>*-]+$/.test(word) ? word : shellQuoted(word);

function factsOf(
  { stage, explanation, needs, gives, programs, limit, attempts, effect }: PlannedStep,
  shown: readonly (readonly string[])[],
): readonly (readonly [name: string, text: string])[] {
  const facts: [string, string][] = [];
  if (stage !== undefined) facts.push(['reports', stage]);
  if (explanation?.startsWith('waits for'))
    facts.push(['waits for', explanation.replace('waits for ', '')]);
  else if (explanation !== undefined) facts.push(['chosen', explanation]);
  if (needs.length > 0) facts.push(['needs', needs.join(', ')]);
  if (gives !== undefined) facts.push(['gives', gives]);
  const others = programs.filter((program) => !shown.some(([name]) => name === program));
  if (others.length > 0) facts.push(['runs', others.join(', ')]);
  const tries = attempts > 1 ? `, tried up to ${attempts} times` : '';
  facts.push(['takes', `at most ${renderDuration(limit)}${tries}`]);
  if (effect === 'locks') facts.push(['if resumed', 'runs again']);
  return facts;
}

/** Every step of a plan, one lane after the other. */
export const everyStep = ({ items, follow, always }: Plan): readonly PlannedStep[] => [
  ...items.flatMap((item) =>
    item.kind === 'step' ? [item.step] : item.lanes.flatMap(({ steps }) => steps),
  ),
  ...follow,
  ...always,
];
