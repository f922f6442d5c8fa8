import * as z from 'zod';
import type { Plan, PlannedStep } from '../engine/describe.ts';
import { stages } from '../model/stage.ts';
import { jsonText } from './messages.ts';
import { everyStep } from './plan-text.ts';

const PlannedStep = z.strictObject({
  id: z.string().describe('area/verb-noun, unique in a role'),
  title: z.string(),
  stage: z.enum(stages).optional().describe('stage that the inventory service sees from here on'),
  isActive: z.boolean().describe('false when the configuration skips the step'),
  onlyWhen: z.string().optional(),
  destroys: z.boolean().describe('data is lost on the machine'),
  preflight: z.boolean().describe('only reads; comes before every step that destroys data'),
  leaves: z.boolean().describe('reboots the host'),
  rerun: z.enum(['safe', 'probe', 'always']),
  uses: z.array(z.string()).describe('ports that the step can use'),
  needs: z.array(z.string()).describe('facts of earlier steps'),
  gives: z.string().optional(),
  waitsFor: z.string().optional(),
  explanation: z.string().optional().describe('what was chosen for this configuration, and why'),
  limit: z.number().describe('milliseconds'),
  attempts: z.int(),
  commands: z
    .array(z.array(z.string()))
    .describe('argv of commands on the host; all of those that destroy what was there before'),
  programs: z.array(z.string()).describe('what the step starts on the host'),
});

/** What `plan --format json` prints. A field is never removed within one version. */
export const PlanDocument = z.strictObject({
  v: z.literal(1).describe('version of this form'),
  role: z.string(),
  title: z.string(),
  items: z.array(
    z.discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('step'), step: PlannedStep }),
      z.strictObject({
        kind: z.literal('lanes'),
        lanes: z.array(z.strictObject({ name: z.string(), steps: z.array(PlannedStep) })),
      }),
    ]),
  ),
  follow: z.array(PlannedStep).describe('run in the background'),
  always: z.array(PlannedStep).describe('run at the end, also after a failure'),
});
export type PlanDocument = z.infer<typeof PlanDocument>;

/** A plan for programs. */
export const renderPlanJson = (plan: Plan): string => jsonText({ v: 1, ...plan });

/** A plan as a graph for Graphviz: solid lines are the order, dashed ones the facts. */
export function renderPlanDot(plan: Plan): string {
  const lines = [
    `digraph ${quoted(plan.role)} {`,
    `  label=${quoted(`${plan.role}: ${plan.title}`)};`,
    '  node [shape=box, fontname="sans-serif"];',
    ...plan.items.flatMap((item, index) =>
      item.kind === 'step'
        ? [node(item.step, '  ')]
        : item.lanes.flatMap(({ name, steps }) => cluster(`${index}_${name}`, name, steps)),
    ),
    ...cluster('follow', 'in the background', plan.follow),
    ...cluster('always', 'at the end', plan.always),
    ...orderEdges(plan),
    ...factEdges(plan),
    '}',
  ];
  return `${lines.join('\n')}\n`;
}

const quoted = (text: string): string => JSON.stringify(text);

function node(step: PlannedStep, indent: string): string {
  const style = [
    ...(step.isActive ? [] : ['style=dotted']),
    ...(step.destroys ? ['color=red'] : []),
    ...(step.leaves ? ['peripheries=2'] : []),
  ];
  const label = `label=${quoted(`${step.id}\n${step.title}`)}`;
  return `${indent}${quoted(step.id)} [${[label, ...style].join(', ')}];`;
}

function cluster(name: string, label: string, steps: readonly PlannedStep[]): readonly string[] {
  if (steps.length === 0) return [];
  return [
    `  subgraph ${quoted(`cluster_${name}`)} {`,
    `    label=${quoted(label)};`,
    ...steps.map((step) => node(step, '    ')),
    '  }',
  ];
}

/** From the last steps of each line to the first steps of the next. */
function orderEdges(plan: Plan): readonly string[] {
  const edges: string[] = [];
  let before: readonly PlannedStep[] = [];
  for (const item of plan.items) {
    const lists = item.kind === 'step' ? [[item.step]] : item.lanes.map(({ steps }) => steps);
    const ends: PlannedStep[] = [];
    for (const steps of lists) {
      const [first] = steps;
      const last = steps.at(-1);
      if (first === undefined || last === undefined) continue;
      edges.push(...before.map((step) => edge(step, first)));
      edges.push(...steps.slice(1).map((step, index) => edge(steps[index] ?? step, step)));
      ends.push(last);
    }
    if (ends.length > 0) before = ends;
  }
  return edges;
}

const edge = (from: PlannedStep, to: PlannedStep): string =>
  `  ${quoted(from.id)} -> ${quoted(to.id)};`;

function factEdges(plan: Plan): readonly string[] {
  const givers = new Map(
    everyStep(plan).flatMap(({ gives, id }) => (gives === undefined ? [] : [[gives, id] as const])),
  );
  return everyStep(plan).flatMap(({ id, needs }) =>
    needs.flatMap((fact) => {
      const giver = givers.get(fact);
      if (giver === undefined) return [];
      return [`  ${quoted(giver)} -> ${quoted(id)} [style=dashed, label=${quoted(fact)}];`];
    }),
  );
}
