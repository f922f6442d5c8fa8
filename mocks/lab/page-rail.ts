import type { Plan, PlannedStep } from '../../src/engine/describe.ts';
import type { Stage } from '../../src/model/stage.ts';
import { railOfStages } from '../../src/page/rail.ts';
import type { Rail, RailStep, Track, Work } from '../../src/page/state.ts';

const writes = /^image\/(write|deploy|overwrite)|^layering\/(deploy|overlay)|^registry\/copy$/;
const builds = /^layering\/(build|copy|send|publish)-/;

function workOf({ id, explanation = '' }: PlannedStep): Work {
  if (writes.test(id)) return 'write';
  if (builds.test(id)) return 'build';
  return explanation.includes('waits for') ? 'wait' : 'prepare';
}

const stepOf = (step: PlannedStep): RailStep => ({
  id: step.id,
  title: step.title,
  isActive: step.isActive,
  work: workOf(step),
});

/**
 * The rail of a host with a plan: the plan's steps without background steps, then the stages that
 * the cluster reports.
 */
export function railOfPlan(
  { items, always }: Pick<Plan, 'items' | 'always'>,
  later: readonly Stage[],
): Rail {
  const sections: (readonly Track[])[] = [];
  let line: RailStep[] = [];
  const flush = (): void => {
    if (line.length > 0) sections.push([{ name: '', steps: line }]);
    line = [];
  };
  for (const item of items) {
    if (item.kind === 'step') line.push(stepOf(item.step));
    else {
      flush();
      sections.push(item.lanes.map(({ name, steps }) => ({ name, steps: steps.map(stepOf) })));
    }
  }
  line.push(...always.map(stepOf));
  flush();
  return [...sections, ...railOfStages(later)];
}
