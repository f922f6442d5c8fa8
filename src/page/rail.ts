import { ladders, type Stage, stages } from '../model/stage.ts';
import type { Rail, RailStep, Work } from './state.ts';

/** The id of the step of a rail that stands for a stage of the service. */
export const stageStep = (stage: string): string => `stage: ${stage}`;

/** The work that the time of a stage goes into. */
const stageWork: Readonly<Record<Stage, Work>> = {
  'Starting installation': 'prepare',
  Installing: 'prepare',
  'Writing image to disk': 'write',
  'Copying registry data to disk': 'write',
  'Waiting for control plane': 'wait',
  'Waiting for bootkube': 'wait',
  'Waiting for controller': 'wait',
  Rebooting: 'boot',
  'Waiting for ignition': 'wait',
  Configuring: 'boot',
  Joined: 'boot',
  Done: 'boot',
  Failed: 'prepare',
};

/** The same for a name from outside, which may be no stage. */
export const workOfStage = (stage: string): Work =>
  (stages as readonly string[]).includes(stage) ? stageWork[stage as Stage] : 'prepare';

/** The rail of a host of which only the stages are known. */
export function railOfStages(ladder: readonly Stage[]): Rail {
  const steps = ladder.map((stage) => ({
    id: stageStep(stage),
    title: stage,
    work: stageWork[stage],
    isActive: true,
  }));
  return steps.length === 0 ? [] : [[{ name: '', steps }]];
}

/** The stages of a role; any role but `bootstrap` and `worker` is a master. */
export function ladderOf(role: string, isSingleNode: boolean): readonly Stage[] {
  if (isSingleNode) return ladders['single-node'];
  return ladders[role === 'bootstrap' || role === 'worker' ? role : 'master'];
}

/** Every step of a rail, in its order. */
export const railSteps = (rail: Rail): readonly RailStep[] =>
  rail.flatMap((section) => section.flatMap(({ steps }) => steps));

/** Whether only the stages of a host are known, and not its plan. */
export const isLadder = (rail: Rail): boolean =>
  railSteps(rail).every(({ id }) => id.startsWith(stageStep('')));
