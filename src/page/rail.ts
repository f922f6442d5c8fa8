import { type Stage, stages } from '../model/stage.ts';
import type { Rail, RailStep, Work } from './state.ts';

/** The step of a rail that stands for a stage of the service. */
export const stageStep = (stage: string): string => `stage: ${stage}`;

/** The rail of a host of which only the stages are known. */
export const railOfStages = (ladder: readonly Stage[]): Rail =>
  ladder.length === 0 ? [] : [[{ name: '', steps: ladder.map(stageRailStep) }]];

const stageRailStep = (stage: Stage): RailStep => ({
  id: stageStep(stage),
  title: stage,
  work: stageWork[stage],
  isActive: true,
});

/** What the time of a stage goes into. */
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

/** The same for a name that may be none of them. */
export const workOfStage = (stage: string): Work =>
  (stages as readonly string[]).includes(stage) ? stageWork[stage as Stage] : 'prepare';

/** Whether of a host only its stages are known, and not its plan. */
export const isLadder = (rail: Rail): boolean =>
  railSteps(rail).every(({ id }) => id.startsWith(stageStep('')));

/** Every step of a rail, in its order. */
export const railSteps = (rail: Rail): readonly RailStep[] =>
  rail.flatMap((section) => section.flatMap(({ steps }) => steps));

/** The track of each step, by its id. */
export const tracksOf = (rail: Rail): ReadonlyMap<string, string> =>
  new Map(
    rail.flatMap((section) =>
      section.flatMap(({ name, steps }) => steps.map(({ id }) => [id, name] as const)),
    ),
  );
