import type { AgentError } from '../model/failure.ts';
import type { Stage } from '../model/stage.ts';
import { isActive } from './condition.ts';
import { type AnyFact, isOptional, placeholder } from './fact.ts';
import { asAgentError } from './failures.ts';
import { isLanes, linesFor, mainLine, type Role } from './role.ts';
import type { AnyStep, Effect, World } from './step.ts';

/** One step of a plan, as data. */
export interface PlannedStep {
  readonly id: string;
  readonly title: string;
  readonly stage?: Stage | undefined;
  /** False if the configuration leaves the step out. */
  readonly isActive: boolean;
  readonly onlyWhen?: string | undefined;
  readonly effect?: Effect | undefined;
  readonly uses: readonly string[];
  readonly needs: readonly string[];
  readonly gives?: string | undefined;
  readonly explanation?: string | undefined;
  /** In milliseconds. */
  readonly limit: number;
  readonly attempts: number;
  readonly commands: readonly (readonly string[])[];
  /** Programs that the step starts on the host. */
  readonly programs: readonly string[];
}

/** A line of a plan: one step, or several lanes that run at the same time. */
export type PlannedItem =
  | { readonly kind: 'step'; readonly step: PlannedStep }
  | {
      readonly kind: 'lanes';
      readonly lanes: readonly { readonly name: string; readonly steps: readonly PlannedStep[] }[];
    };

/** The plan of a role for one configuration, as data; `bootwright plan` prints it. */
export interface Plan {
  readonly role: string;
  readonly title: string;
  readonly items: readonly PlannedItem[];
  readonly follow: readonly PlannedStep[];
  readonly always: readonly PlannedStep[];
}

/** Describes the steps of a role for a configuration. Runs no step and opens no port. */
export function describeRole<W extends World>(role: Role<W>, config: W['config']): Plan {
  const describe = (step: AnyStep<W>): PlannedStep => describeStep(step, config);
  return {
    role: role.name,
    title: role.title,
    items: linesFor(role, config).map((item): PlannedItem => {
      if (!isLanes(item)) return { kind: 'step', step: describe(item) };
      const named = Object.entries(item.lanes);
      return {
        kind: 'lanes',
        lanes: named.map(([name, steps]) => ({ name, steps: steps.map(describe) })),
      };
    }),
    follow: (role.follow ?? []).map(describe),
    always: (role.always ?? []).map(describe),
  };
}

/**
 * The errors with which steps of a role would refuse a configuration, in the order of the steps.
 * Runs no step and opens no port.
 */
export function refusalsOf<W extends World>(
  role: Role<W>,
  config: W['config'],
): readonly AgentError[] {
  return [...mainLine(role).map(({ step }) => step), ...(role.follow ?? []), ...(role.always ?? [])]
    .filter((step) => isActive(step.when, config))
    .flatMap(({ requires = [] }) => requires)
    .flatMap((check) => {
      try {
        check(config);
        return [];
      } catch (thrown) {
        return [asAgentError(thrown)];
      }
    });
}

function describeStep<W extends World>(step: AnyStep<W>, config: W['config']): PlannedStep {
  const needs = (step.needs ?? {}) as Readonly<Record<string, AnyFact>>;
  const gives = step.gives as AnyFact | undefined;
  const takesPart = isActive(step.when, config);
  const values = Object.fromEntries(
    Object.entries(needs).map(([name, fact]) => [name, placeholder(fact)]),
  );
  const previewed = takesPart ? step.preview?.(config, values) : undefined;
  const commands = (previewed ?? []).map((argv) => argv.map(String));
  return {
    id: step.id,
    title: step.title,
    stage: step.stage,
    isActive: takesPart,
    onlyWhen: step.when?.describe(config),
    effect: step.effect,
    uses: [...step.uses].map(String),
    needs: Object.values(needs).flatMap((need) => (isOptional(need) ? [] : [need.name])),
    gives: gives?.name,
    explanation: takesPart ? step.explain?.(config) : undefined,
    limit: step.limit,
    attempts: step.retry?.attempts ?? 1,
    commands,
    programs: [...new Set(commands.flatMap(([program]) => program ?? []))],
  };
}
