import { type Condition, isActive } from './condition.ts';
import type { LadderName } from '../model/stage.ts';
import type { AnyStep, World } from './step.ts';

/** Lists that run beside each other; what follows starts when all have finished. */
export interface Lanes<W extends World> {
  readonly lanes: Readonly<Record<string, readonly AnyStep<W>[]>>;
  /** When the lanes run one after the other instead, in the order in which they are written. */
  readonly inTurn?: Condition<W['config']>;
  /**
   * By the name of a lane, the text beside its first stage while the other lanes have finished and
   * its step cannot begin yet. Without it the stage before stays shown.
   */
  readonly ahead?: Readonly<Record<string, string>>;
}

/** One line of a role. */
export type Item<W extends World> = AnyStep<W> | Lanes<W>;

/** What a role is: a list of steps that reads like the documentation of it. */
export interface Role<W extends World> {
  readonly name: string;
  readonly title: string;
  /** The order of stages that the inventory service accepts from this role. */
  readonly ladder: LadderName;
  readonly steps: readonly Item<W>[];
  /** Run in the background while the main line runs; a failure here is reported, never fatal. */
  readonly follow?: readonly AnyStep<W>[];
  /** Run before the reboot and after each failure, in every run; a failure here is never fatal. */
  readonly always?: readonly AnyStep<W>[];
}

/** Declares a role. test/roles/role-rules.test.ts holds each to the rules of roles. */
export const role = <W extends World>(name: string, parts: Omit<Role<W>, 'name'>): Role<W> => ({
  name,
  ...parts,
});

/** Runs several lists beside each other, or in turn where that is asked for. */
export const lanes = <W extends World>(
  named: Readonly<Record<string, readonly AnyStep<W>[]>>,
  options: Pick<Lanes<W>, 'inTurn' | 'ahead'> = {},
): Lanes<W> => ({ lanes: named, ...options });

/** Whether a line of a role is a set of lanes. */
export const isLanes = <W extends World>(item: Item<W>): item is Lanes<W> => 'lanes' in item;

/** The lines of a role as a configuration orders them: lanes in turn are steps like any other. */
export const linesFor = <W extends World>(
  role: Pick<Role<W>, 'steps'>,
  config: W['config'],
): readonly Item<W>[] =>
  role.steps.flatMap((item) =>
    isLanes(item) && item.inTurn !== undefined && isActive(item.inTurn, config)
      ? Object.values(item.lanes).flat()
      : [item],
  );

/** A step with the lane it stands in. */
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
