import { type Condition, isActive } from './condition.ts';
import type { LadderName } from '../model/stage.ts';
import type { AnyStep } from './step.ts';

/** Lists that run beside each other; what follows starts when all are through. */
export interface Lanes<Config, Ports> {
  readonly lanes: Readonly<Record<string, readonly AnyStep<Config, Ports>[]>>;
  /** When the lanes run one after the other instead, in the order in which they are written. */
  readonly inTurn?: Condition<Config>;
}

/** One line of a role. */
export type Item<Config, Ports> = AnyStep<Config, Ports> | Lanes<Config, Ports>;

/** What a role is: a list of steps that reads like the documentation of it. */
export interface Role<Config, Ports> {
  readonly name: string;
  readonly title: string;
  /** The order of stages that the inventory service accepts from this role. */
  readonly ladder: LadderName;
  readonly steps: readonly Item<Config, Ports>[];
  /** Run in the background while the main line runs; a failure here is told, never fatal. */
  readonly follow?: readonly AnyStep<Config, Ports>[];
  /** Run once, before the host is left or after a failure; a failure here is told, never fatal. */
  readonly always?: readonly AnyStep<Config, Ports>[];
}

/** Runs several lists beside each other, or in turn where that is asked for. */
export const lanes = <Config, Ports>(
  named: Readonly<Record<string, readonly AnyStep<Config, Ports>[]>>,
  options: Pick<Lanes<Config, Ports>, 'inTurn'> = {},
): Lanes<Config, Ports> => ({ lanes: named, ...options });

/** Whether a line of a role is a set of lanes. */
export const isLanes = <Config, Ports>(item: Item<Config, Ports>): item is Lanes<Config, Ports> =>
  'lanes' in item;

/** The lines of a role as a configuration orders them: lanes in turn are steps like any other. */
export const linesFor = <Config, Ports>(
  role: Pick<Role<Config, Ports>, 'steps'>,
  config: Config,
): readonly Item<Config, Ports>[] =>
  role.steps.flatMap((item) =>
    isLanes(item) && item.inTurn !== undefined && isActive(item.inTurn, config)
      ? Object.values(item.lanes).flat()
      : [item],
  );

/** A step with the lane it stands in. */
export interface PlacedStep<Config, Ports> {
  readonly step: AnyStep<Config, Ports>;
  readonly lane?: string;
}

/** The steps of the main line in order, lanes one after the other. */
export function mainLine<Config, Ports>(
  role: Pick<Role<Config, Ports>, 'steps'>,
): readonly PlacedStep<Config, Ports>[] {
  return role.steps.flatMap((item): readonly PlacedStep<Config, Ports>[] => {
    if (!isLanes(item)) return [{ step: item }];
    return Object.entries(item.lanes).flatMap(([lane, steps]) =>
      steps.map((step) => ({ step, lane })),
    );
  });
}
