import { type Condition, questions } from './condition.ts';
import { type AnyFact, isOptional, type NeedsOf } from './fact.ts';
import { engineFailure } from './failures.ts';
import { isLanes, type Item, type Lanes, mainLine, type PlacedStep, type Role } from './role.ts';
import { type Stage, ladders } from '../model/stage.ts';
import type { AnyStep, World } from './step.ts';

/**
 * Checks the rules that every role must keep, for every combination of answers to its conditions.
 * Called when a role is declared, so that a broken one fails every test.
 * @throws AgentError `role.broken` that names the step and the rule
 */
export function checkRole<W extends World>(role: Role<W>): Role<W> {
  checkIds(role);
  checkStages(role);
  checkPreflight(role);
  checkInputs(role);
  checkProbes(role);
  checkFresh(role);
  checkEnd(role);
  checkTouches(role);
  checkOptionalNeeds(role);
  for (const answers of combinations(role)) checkFlow(role, answers);
  return role;
}

/** Declares a role and checks it. */
export const role = <W extends World>(name: string, parts: Omit<Role<W>, 'name'>): Role<W> =>
  checkRole({ name, ...parts });

function broken<W extends World>(role: Role<W>, step: string, rule: string): Error {
  return engineFailure('role.broken', `role ${role.name}, step ${step}: ${rule}`, {
    context: { role: role.name, step },
  });
}

function everyStep<W extends World>(role: Role<W>): readonly PlacedStep<W>[] {
  const aside = [...(role.follow ?? []), ...(role.always ?? [])];
  return [...mainLine(role), ...aside.map((step) => ({ step }))];
}

function checkIds<W extends World>(role: Role<W>): void {
  const seen = new Set<string>();
  for (const { step } of everyStep(role)) {
    if (!/^[a-z0-9-]+\/[a-z0-9-]+$/.test(step.id)) {
      throw broken(role, step.id, 'an id is written area/verb-noun');
    }
    if (seen.has(step.id)) throw broken(role, step.id, 'a role has each id once');
    seen.add(step.id);
  }
}

function checkStages<W extends World>(role: Role<W>): void {
  const ladder: readonly Stage[] = ladders[role.ladder];
  const position = ({ step }: PlacedStep<W>, floor: number): number => {
    if (step.stage === undefined) return floor;
    const index = ladder.indexOf(step.stage);
    if (index < 0) throw broken(role, step.id, `${step.stage} is not a stage of this ladder`);
    if (index < floor) throw broken(role, step.id, `${step.stage} is lower than the stage before`);
    return index;
  };
  let floor = 0;
  for (const item of role.steps) {
    if (!isLanes(item)) {
      floor = position({ step: item }, floor);
      continue;
    }
    const tops = Object.entries(item.lanes).map(([lane, steps]) =>
      steps.reduce((at, step) => position({ step, lane }, at), floor),
    );
    floor = Math.max(floor, ...tops);
  }
}

/**
 * Steps of the main line, each with what may have destroyed something before it begins: before it,
 * or in another lane.
 */
function underLoss<W extends World>(
  role: Role<W>,
): readonly { readonly step: AnyStep<W>; readonly destroyer: string | undefined }[] {
  let before: string | undefined;
  return role.steps.flatMap((item) => {
    const lists = isLanes(item) ? Object.values(item.lanes) : [[item]];
    const losses = lists.map((steps) => {
      const at = steps.findIndex(({ destroys }) => destroys === true);
      const awaited = steps.slice(0, at + 1).flatMap(needsOf);
      return { id: steps[at]?.id, awaited: new Set(awaited.map(({ name }) => name)) };
    });
    const earlier = before;
    before ??= losses.find(({ id }) => id !== undefined)?.id;
    return lists.flatMap((steps, lane) =>
      steps.map((step, at) => {
        // A lane that waits for what this step, or one after it, gives has destroyed nothing yet.
        const isBeside = ({ awaited }: (typeof losses)[number], other: number): boolean =>
          other !== lane && !steps.slice(at).some((one) => awaited.has(nameGiven(one) ?? ''));
        const own = steps.slice(0, at).find(({ destroys }) => destroys === true)?.id;
        const beside = losses.filter(isBeside).find(({ id }) => id !== undefined)?.id;
        return { step, destroyer: earlier ?? own ?? beside };
      }),
    );
  });
}

const nameGiven = <W extends World>({ gives }: AnyStep<W>): string | undefined =>
  (gives as AnyFact | undefined)?.name;

function checkPreflight<W extends World>(role: Role<W>): void {
  for (const { step, destroyer } of underLoss(role)) {
    if (step.preflight !== true && step.fetches !== true) continue;
    if (destroyer !== undefined) {
      throw broken(role, step.id, `it checks or fetches after ${destroyer}, which destroys`);
    }
    if (step.destroys === true) {
      throw broken(role, step.id, 'a step that checks or fetches cannot destroy');
    }
  }
}

/** Nothing is destroyed before what later steps that destroy need is known, as far as it can be. */
function checkInputs<W extends World>(role: Role<W>): void {
  const late = givenLate(role);
  for (const { step } of underLoss(role)) {
    const needs = step.destroys === true ? needsOf(step) : [];
    const [giver] = needs.flatMap(({ name }) => late.get(name) ?? []);
    if (giver === undefined) continue;
    throw broken(role, giver, `it comes after a loss, and ${step.id}, which destroys, needs it`);
  }
}

/**
 * Facts that are given after a loss although nothing keeps them from being known before, with who
 * gives them.
 */
function givenLate<W extends World>(role: Role<W>): ReadonlyMap<string, string> {
  const late = new Map<string, string>();
  const follows = new Set<string>();
  for (const { step, destroyer } of underLoss(role)) {
    const gives = nameGiven(step);
    if (gives === undefined) continue;
    if (
      step.destroys === true ||
      step.knownLate !== undefined ||
      needsOf(step).some(({ name }) => follows.has(name))
    ) {
      follows.add(gives);
    } else if (destroyer !== undefined) late.set(gives, step.id);
  }
  return late;
}

function checkProbes<W extends World>(role: Role<W>): void {
  for (const { step } of everyStep(role)) {
    if (step.rerun === 'probe' && step.probe === undefined) {
      throw broken(role, step.id, 'rerun: probe needs a probe');
    }
  }
}

function checkFresh<W extends World>(role: Role<W>): void {
  const ids = mainLine(role).map(({ step }) => step.id);
  for (const { step } of everyStep(role)) {
    const early = [step.freshUntil ?? []]
      .flat()
      .find((id) => ids.indexOf(id) <= ids.indexOf(step.id));
    if (early === undefined) continue;
    throw broken(role, step.id, `no later step is ${early}, until which it runs again`);
  }
}

function checkEnd<W extends World>(role: Role<W>): void {
  const last = role.steps.at(-1);
  for (const { step } of everyStep(role)) {
    if (step.leaves === true && step !== last) {
      throw broken(role, step.id, 'nothing comes after the step that leaves the host');
    }
  }
}

function checkTouches<W extends World>(role: Role<W>): void {
  for (const item of role.steps) {
    if (!isLanes(item)) continue;
    const owner = new Map<string, string>();
    for (const { step, lane, thing } of touchesOf(item)) {
      const other = owner.get(thing) ?? lane;
      if (other !== lane) throw broken(role, step.id, `lane ${other} touches ${thing} too`);
      owner.set(thing, lane);
    }
  }
}

const touchesOf = <W extends World>({
  lanes,
}: Lanes<W>): readonly {
  readonly step: AnyStep<W>;
  readonly lane: string;
  readonly thing: string;
}[] =>
  Object.entries(lanes).flatMap(([lane, steps]) =>
    steps.flatMap((step) => (step.touches ?? []).map((thing) => ({ step, lane, thing }))),
  );

type Answers = ReadonlyMap<string, boolean>;

/**
 * Every combination of answers that decides which facts are given, and in what order. A question
 * that only leaves out a step which gives nothing is not among them: their number doubles with
 * each.
 */
function combinations<W extends World>(role: Role<W>): readonly Answers[] {
  const givers = everyStep(role).flatMap(({ step }) =>
    nameGiven(step) === undefined ? [] : [step.when],
  );
  const orders = role.steps.map((item) => (isLanes(item) ? item.inTurn : undefined));
  const names = new Set(
    [...givers, ...orders].flatMap((when) => (when === undefined ? [] : questions(when))),
  );
  let found: readonly (readonly (readonly [string, boolean])[])[] = [[]];
  for (const name of names) {
    found = found.flatMap((answers) => [
      [...answers, [name, true] as const],
      [...answers, [name, false] as const],
    ]);
  }
  return found.map((answers) => new Map(answers));
}

/** Whether a condition can come out as wanted, questions without an answer being open. */
function isPossible<Config>(of: Condition<Config>, answers: Answers, wanted = true): boolean {
  switch (of.kind) {
    case 'ask':
      return (answers.get(of.name) ?? wanted) === wanted;
    case 'not':
      return isPossible(of.of, answers, !wanted);
    case 'all':
      return wanted
        ? of.of.every((part) => isPossible(part, answers))
        : of.of.some((part) => isPossible(part, answers, false));
  }
}

const takesPart = <Config>(when: Condition<Config> | undefined, answers: Answers): boolean =>
  when === undefined || isPossible(when, answers);

/** A dry schedule: every need is given by an earlier step or by a lane that can get there. */
function checkFlow<W extends World>(role: Role<W>, answers: Answers): void {
  const known = new Set<string>();
  const giveOf = (step: AnyStep<W>): void => {
    const gives = nameGiven(step);
    if (gives === undefined) return;
    if (known.has(gives)) throw broken(role, step.id, `${gives} is given twice`);
    known.add(gives);
  };
  for (const item of role.steps) {
    const stuck = scheduleItem(item, { known, giveOf, answers });
    if (stuck !== undefined) {
      throw broken(role, stuck.step.id, `nothing before it gives ${stuck.fact}`);
    }
  }
  for (const step of [...(role.follow ?? []), ...(role.always ?? [])]) {
    if (nameGiven(step) !== undefined) {
      throw broken(role, step.id, 'only the main line gives facts');
    }
    const missing = takesPart(step.when, answers) ? firstMissing(step, known) : undefined;
    if (missing !== undefined) throw broken(role, step.id, `no step gives ${missing}`);
  }
}

interface DrySchedule<W extends World> {
  readonly known: ReadonlySet<string>;
  readonly giveOf: (step: AnyStep<W>) => void;
  readonly answers: Answers;
}

interface Stuck<W extends World> {
  readonly step: AnyStep<W>;
  readonly fact: string;
}

function scheduleItem<W extends World>(
  item: Item<W>,
  { known, giveOf, answers }: DrySchedule<W>,
): Stuck<W> | undefined {
  const lists = listsOf(item, answers);
  const queues = lists.map((steps) => steps.filter((step) => takesPart(step.when, answers)));
  for (;;) {
    let hasMoved = false;
    let stuck: Stuck<W> | undefined;
    for (const queue of queues) {
      const [step] = queue;
      if (step === undefined) continue;
      const fact = firstMissing(step, known);
      if (fact !== undefined) stuck ??= { step, fact };
      else {
        giveOf(step);
        queue.shift();
        hasMoved = true;
      }
    }
    if (!hasMoved) return stuck;
  }
}

/** Lists that run beside each other; lanes in turn are one list. */
function listsOf<W extends World>(
  item: Item<W>,
  answers: Answers,
): readonly (readonly AnyStep<W>[])[] {
  if (!isLanes(item)) return [[item]];
  const lists = Object.values(item.lanes);
  return item.inTurn !== undefined && takesPart(item.inTurn, answers) ? [lists.flat()] : lists;
}

function firstMissing<W extends World>(
  step: AnyStep<W>,
  known: ReadonlySet<string>,
): string | undefined {
  return needsOf(step).find((need) => !isOptional(need) && !known.has(need.name))?.name;
}

const needsOf = <W extends World>(step: AnyStep<W>): readonly AnyFact[] =>
  Object.values((step.needs ?? {}) as NeedsOf);

/** Nobody waits for a fact that may never come: whatever gives it is done before, or left out. */
function checkOptionalNeeds<W extends World>(role: Role<W>): void {
  const everywhere = new Set(mainLine(role).map(({ step }) => nameGiven(step)));
  const before = new Set<string | undefined>();
  const checkInOrder = (steps: readonly AnyStep<W>[]): void => {
    const known = new Set(before);
    for (const step of steps) {
      const late = needsOf(step).find(
        (need) => isOptional(need) && everywhere.has(need.name) && !known.has(need.name),
      );
      if (late !== undefined)
        throw broken(role, step.id, `${late.name} is given beside it or after it`);
      known.add(nameGiven(step));
    }
  };
  for (const item of role.steps) {
    const lists = isLanes(item) ? Object.values(item.lanes) : [[item]];
    lists.forEach(checkInOrder);
    for (const step of lists.flat()) before.add(nameGiven(step));
  }
}
