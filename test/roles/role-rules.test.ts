import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { type AnyFact, fact, ifGiven, isOptional } from '../../src/engine/fact.ts';
import { isActive } from '../../src/engine/condition.ts';
import { isLanes, type Item, lanes, linesFor, type Role } from '../../src/engine/role.ts';
import { type AnyStep, stepsOf, type World } from '../../src/engine/step.ts';
import { minutes } from '../../src/model/duration.ts';
import { ladders, type Stage } from '../../src/model/stage.ts';
import { chooseRole } from '../../src/roles/choose.ts';
import { wipe } from '../../src/roles/wipe.ts';
import { cornerOf, corners } from './corners.ts';

/** Steps that fetch an input of the installation; each comes before the first loss. */
const fetching = new Set([
  'image/check-inputs',
  'ignition/fetch-host',
  'ignition/merge-single-node',
  'bootstrap/fetch-ignition',
]);

/** Facts that are unknown before the first loss: the control plane renders them meanwhile. */
const knownLate = new Set(['layering/wait-for-rendered']);

/** A host that is short of processor time needs more than a minute for one `mkdir`. */
const shortest = minutes(5);

/** The active steps of a role: item by item, with the parallel lists of each. */
type Items<W extends World> = readonly (readonly (readonly AnyStep<W>[])[])[];

const needsOf = <W extends World>({ needs = {} }: AnyStep<W>): readonly AnyFact[] =>
  Object.values(needs as Readonly<Record<string, AnyFact>>);
const givenBy = <W extends World>({ gives }: AnyStep<W>): string | undefined =>
  (gives as AnyFact | undefined)?.name;

/** Violations of the rules of roles in the steps of a role for a configuration. */
function violations<W extends World>(role: Role<W>, config: W['config']): readonly string[] {
  const takesPart = ({ when }: AnyStep<W>): boolean => isActive(when, config);
  const items = linesFor(role, config).map((item): readonly (readonly AnyStep<W>[])[] =>
    listsOf(item).map((steps) => steps.filter(takesPart)),
  );
  const aside = [...(role.follow ?? []), ...(role.always ?? [])].filter(takesPart);
  return [
    ...wrongIds([...linesFor(role, config).flatMap((item) => listsOf(item).flat()), ...aside]),
    ...[...items.flat(2), ...aside]
      .filter(({ limit }) => limit < shortest)
      .map(({ id }) => `${id} ends too early on a slow host`),
    ...wrongStages(ladders[role.ladder], items),
    ...wrongFacts(items, aside),
    ...wrongLosses(items),
    ...[...items.flat(2).slice(0, -1), ...aside]
      .filter(({ effect }) => effect === 'leaves')
      .map(({ id }) => `${id} leaves, and is not the last step`),
  ];
}

const listsOf = <W extends World>(item: Item<W>): readonly (readonly AnyStep<W>[])[] =>
  isLanes(item) ? Object.values(item.lanes) : [[item]];

const wrongIds = <W extends World>(steps: readonly AnyStep<W>[]): readonly string[] =>
  steps.flatMap(({ id }, at) => [
    ...(/^[a-z0-9-]+\/[a-z0-9-]+$/.test(id) ? [] : [`${id} is not area/verb-noun`]),
    ...(steps.findIndex((one) => one.id === id) === at ? [] : [`${id} stands twice`]),
  ]);

/** The service accepts the stages of a host only in their order. */
function wrongStages<W extends World>(
  ladder: readonly Stage[],
  items: Items<W>,
): readonly string[] {
  let floor = 0;
  const wrong: string[] = [];
  for (const lists of items) {
    const tops = lists.map((steps) =>
      steps.reduce((top, { id, stage }) => {
        const at = stage === undefined ? top : ladder.indexOf(stage);
        if (at < top) wrong.push(`${id} reports ${stage} too late, or not on this ladder`);
        return Math.max(top, at);
      }, floor),
    );
    floor = Math.max(floor, ...tops);
  }
  return wrong;
}

/**
 * Each needed fact is given earlier, or by a lane that reaches that step, and each fact is given
 * once.
 */
function wrongFacts<W extends World>(
  items: Items<W>,
  aside: readonly AnyStep<W>[],
): readonly string[] {
  const known = new Set<string>();
  const missing = (step: AnyStep<W>): string | undefined =>
    needsOf(step).find((need) => !isOptional(need) && !known.has(need.name))?.name;
  const wrong = lateOptions(items);
  for (const lists of items) wrong.push(...schedule(lists, known, missing));
  for (const step of aside) {
    if (givenBy(step) !== undefined) wrong.push(`${step.id} gives a fact from aside`);
    const fact = missing(step);
    if (fact !== undefined) wrong.push(`nothing gives ${fact} to ${step.id}`);
  }
  return wrong;
}

/**
 * No step waits for a fact that may never come: the step that gives it has ended before, or is
 * omitted.
 */
function lateOptions<W extends World>(items: Items<W>): string[] {
  const everywhere = new Set(items.flat(2).map(givenBy));
  return items.flatMap((lists, item) => {
    const before = items.slice(0, item).flat(2);
    return lists.flatMap((steps) =>
      steps.flatMap((step, at) => {
        const known = new Set([...before, ...steps.slice(0, at)].map(givenBy));
        return needsOf(step)
          .filter((need) => isOptional(need) && everywhere.has(need.name) && !known.has(need.name))
          .map(({ name }) => `${name} is given beside or after ${step.id}`);
      }),
    );
  });
}

/** A dry run of parallel lists: each continues as long as its needs are met. */
function schedule<W extends World>(
  lists: Items<W>[number],
  known: Set<string>,
  missing: (step: AnyStep<W>) => string | undefined,
): readonly string[] {
  const wrong: string[] = [];
  const queues = lists.map((steps) => [...steps]);
  const next = () => queues.find(([step]) => step !== undefined && missing(step) === undefined);
  for (let step = next()?.shift(); step !== undefined; step = next()?.shift()) {
    const gives = givenBy(step);
    if (gives !== undefined && known.has(gives)) wrong.push(`${step.id} gives ${gives} again`);
    if (gives !== undefined) known.add(gives);
  }
  const [stuck] = queues.flat();
  if (stuck !== undefined) wrong.push(`nothing before ${stuck.id} gives ${missing(stuck)}`);
  return wrong;
}

/**
 * Before the first loss all checks are complete, all inputs are available, and all needs of later
 * destructive steps are known, as far as possible.
 */
function wrongLosses<W extends World>(items: Items<W>): readonly string[] {
  const losses = items.flatMap((lists, item) =>
    lists.flatMap((steps) => steps.map((step) => ({ step, loss: lossBefore(items, item, step) }))),
  );
  const follows = new Set<string | undefined>();
  for (const { step } of losses) {
    const isLate = step.effect === 'destroys' || knownLate.has(step.id);
    if (isLate || needsOf(step).some(({ name }) => follows.has(name))) follows.add(givenBy(step));
  }
  const late = new Map(
    losses
      .filter(({ step, loss }) => loss !== undefined && !follows.has(givenBy(step)))
      .map(({ step }) => [givenBy(step), step.id]),
  );
  return losses.flatMap(({ step, loss }) => {
    if (step.effect === 'destroys')
      return needsOf(step)
        .filter(({ name }) => late.has(name))
        .map(({ name }) => `${late.get(name)} comes after a loss, ${step.id} needs it`);
    const isBound = step.effect === 'reads' || fetching.has(step.id);
    return isBound && loss !== undefined ? [`${step.id} checks or fetches after ${loss}`] : [];
  });
}

/**
 * Steps that may have destroyed data before a step begins: earlier ones, or steps of another lane.
 */
function lossBefore<W extends World>(
  items: Items<W>,
  item: number,
  step: AnyStep<W>,
): string | undefined {
  const destroys = ({ effect }: AnyStep<W>): boolean => effect === 'destroys';
  const lists = items[item] ?? [];
  const own = lists.find((steps) => steps.includes(step)) ?? [];
  const at = own.indexOf(step);
  const ahead = own.slice(at).map(givenBy);
  // A lane that waits for a fact of this step, or of a later one, has destroyed nothing yet.
  const beside = lists
    .filter((steps) => steps !== own)
    .flatMap((steps) => {
      const awaited = steps.slice(0, steps.findIndex(destroys) + 1).flatMap(needsOf);
      return awaited.some(({ name }) => ahead.includes(name)) ? [] : steps;
    });
  return [...items.slice(0, item).flat(2), ...own.slice(0, at), ...beside].find(destroys)?.id;
}

it.each(corners)('the role of a $name follows the rules', ({ config }) => {
  expect(violations(chooseRole(config), config)).toEqual([]);
});

it('the role for wiping follows the rules', () => {
  const config = cornerOf('worker', {});
  const wiped = wipe({ confirm: undefined, report: () => undefined });
  expect(violations(wiped, config)).toEqual([]);
});

describe('the rules report', () => {
  interface Toy {
    readonly config: undefined;
    readonly ports: Readonly<Record<string, never>>;
  }
  const step = stepsOf<Toy>();
  const Disk = fact('toy.disk', z.string());
  const base = { title: 'Do', uses: [], limit: shortest } as const;
  const run = () => Promise.resolve();
  const reads = step({ ...base, id: 'disk/reads', effect: 'reads', run });
  const find = step({ ...base, id: 'disk/find', gives: Disk, run: () => Promise.resolve('d') });
  const wipes = step({ ...base, id: 'disk/wipe', effect: 'destroys', run });
  const writes = step({
    ...base,
    id: 'disk/write',
    effect: 'destroys',
    needs: { disk: Disk },
    run,
  });
  const fetches = step({ ...base, id: 'ignition/fetch-host', run });
  const leaves = step({ ...base, id: 'host/leave', effect: 'leaves', run });
  const asks = step({ ...base, id: 'disk/ask', needs: { disk: ifGiven(Disk) }, run });

  it.each<[string, Partial<Role<Toy>>, RegExp]>([
    ['a duplicate id', { steps: [reads, reads] }, /reads stands twice/],
    ['an id without an area', { steps: [{ ...reads, id: 'check' }] }, /not area/],
    ['a limit of seconds', { steps: [{ ...reads, limit: shortest - 1 }] }, /reads ends too early/],
    [
      'a lower stage than before',
      {
        steps: [
          { ...reads, stage: 'Rebooting' },
          { ...find, stage: 'Installing' },
        ],
      },
      /find reports Installing/,
    ],
    ['a need that is given later', { steps: [writes, find] }, /before disk\/write gives toy.disk/],
    ['a duplicate fact', { steps: [find, { ...find, id: 'a/b' }] }, /a\/b gives/],
    [
      'an optional need given by another lane',
      { steps: [lanes({ a: [find], b: [asks] })] },
      /beside/,
    ],
    ['a check after a loss', { steps: [wipes, reads] }, /reads checks or fetches after disk\/wipe/],
    ['a fetch beside a loss', { steps: [lanes({ a: [fetches], b: [wipes] })] }, /fetch-host/],
    ['an input known after a loss', { steps: [wipes, find, writes] }, /find comes after a loss/],
    ['a step after the one that leaves', { steps: [leaves, reads] }, /leave leaves/],
    ['a step that leaves among those that always run', { always: [leaves] }, /leave leaves/],
    ['a fact given by a follow step', { follow: [find] }, /from aside/],
    ['a missing need of a follow step', { follow: [writes] }, /nothing gives toy/],
  ])('%s', (...[, parts, found]) => {
    const role = { name: 'toy', title: 'A toy', ladder: 'master', steps: [], ...parts } as const;
    expect(violations<Toy>(role, undefined).join('\n')).toMatch(found);
  });

  it('nothing if a loss waits for facts of the other lane', () => {
    const steps = [lanes<Toy>({ a: [writes], b: [fetches, find] })];
    const role = { name: 'toy', title: 'A toy', ladder: 'master', steps } as const;
    expect(violations<Toy>(role, undefined)).toEqual([]);
  });
});
