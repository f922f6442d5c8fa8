import { ladders, type Stage, stages } from '../model/stage.ts';
import type { Rail, RailStep, Work } from './state.ts';

/** The id of the rail's step for a stage of the service. */
export const stageStep = (stage: string): string => `stage: ${stage}`;

/** The kind of work of each stage. */
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

/** The kind of work for a name from outside, which may not be a stage. */
export const workOfStage = (stage: string): Work =>
  (stages as readonly string[]).includes(stage) ? stageWork[stage as Stage] : 'prepare';

/** The rail of a host for which only the stages are known. */
export function railOfStages(ladder: readonly Stage[]): Rail {
  const steps = ladder.map((stage) => ({
    id: stageStep(stage),
    title: stage,
    work: stageWork[stage],
    isActive: true,
  }));
  return steps.length === 0 ? [] : [[{ name: '', steps }]];
}

/** The stages of a role; a role other than `bootstrap` and `worker` counts as master. */
export function ladderOf(role: string, isSingleNode: boolean): readonly Stage[] {
  if (isSingleNode) return ladders['single-node'];
  return ladders[role === 'bootstrap' || role === 'worker' ? role : 'master'];
}

/** All steps of a rail, in order. */
export const railSteps = (rail: Rail): readonly RailStep[] =>
  rail.flatMap((section) => section.flatMap(({ steps }) => steps));

/** Whether only the stages of a host are known, rather than its plan. */
export const isLadder = (rail: Rail): boolean =>
  railSteps(rail).every(({ id }) => id.startsWith(stageStep('')));
