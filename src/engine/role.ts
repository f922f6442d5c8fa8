import { type Condition, isActive } from './condition.ts';
import type { LadderName } from '../model/stage.ts';
import type { AnyStep, World } from './step.ts';

/** Lists of steps that run at the same time; the line after them starts when all have finished. */
export interface Lanes<W extends World> {
  readonly lanes: Readonly<Record<string, readonly AnyStep<W>[]>>;
  /**
   * The condition under which the lanes run one after the other, in the order of their declaration.
   */
  readonly inTurn?: Condition<W['config']>;
  /**
   * By lane, the text beside the lane's first stage while the other lanes have finished and its
   * step cannot begin yet. Without it, the earlier stage stays.
   */
  readonly ahead?: Readonly<Record<string, string>>;
}

/** One line of a role. */
export type Item<W extends World> = AnyStep<W> | Lanes<W>;

/** A role: a list of steps that reads like its documentation. */
export interface Role<W extends World> {
  readonly name: string;
  readonly title: string;
  /** The order of stages that the inventory service accepts for this role. */
  readonly ladder: LadderName;
  readonly steps: readonly Item<W>[];
  /** Steps that run in the background of the main line. A failure here is reported, never fatal. */
  readonly follow?: readonly AnyStep<W>[];
  /**
   * Steps that run before the reboot and after each failure, in every run. A failure here is never
   * fatal.
   */
  readonly always?: readonly AnyStep<W>[];
}

/** Declares a role. test/roles/role-rules.test.ts checks each role. */
export const role = <W extends World>(name: string, parts: Omit<Role<W>, 'name'>): Role<W> => ({
  name,
  ...parts,
});

/** Runs several lists of steps at the same time, or one after the other by a condition. */
export const lanes = <W extends World>(
  named: Readonly<Record<string, readonly AnyStep<W>[]>>,
  options: Pick<Lanes<W>, 'inTurn' | 'ahead'> = {},
): Lanes<W> => ({ lanes: named, ...options });

/** Whether a line of a role is a set of lanes. */
export const isLanes = <W extends World>(item: Item<W>): item is Lanes<W> => 'lanes' in item;

/** The lines of a role for a configuration: lanes that run in turn become ordinary steps. */
export const linesFor = <W extends World>(
  role: Pick<Role<W>, 'steps'>,
  config: W['config'],
): readonly Item<W>[] =>
  role.steps.flatMap((item) =>
    isLanes(item) && item.inTurn !== undefined && isActive(item.inTurn, config)
      ? Object.values(item.lanes).flat()
      : [item],
  );

/** A step with its lane. */
export interface PlacedStep<W extends World> {
  readonly step: AnyStep<W>;
  readonly lane?: string;
}

/** The steps of the main line in order, lanes one after the other. */
export function mainLine<W extends World>(role: Pick<Role<W>, 'steps'>): readonly PlacedStep<W>[] {
  return role.steps.flatMap((item): readonly PlacedStep<W>[] => {
    if (!isLanes(item)) return [{ step: item }];
    return Object.entries(item.lanes).flatMap(([lane, steps]) =>
      steps.map((step) => ({ step, lane })),
    );
  });
}

/** Ids of the steps of the main line that a configuration does not leave out. */
export const activeSteps = <W extends World>(
  role: Pick<Role<W>, 'steps'>,
  config: W['config'],
): readonly string[] =>
  mainLine(role)
    .filter(({ step }) => isActive(step.when, config))
    .map(({ step }) => step.id);
