import type { Plan, PlannedStep } from '../../engine/describe.ts';
import { everyStep } from './words.ts';

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
