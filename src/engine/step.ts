import type { Millis } from '../model/duration.ts';
import type { Secret } from '../model/secret.ts';
import type { Stage } from '../model/stage.ts';
import type { Condition } from './condition.ts';
import type { Note, Progress } from './events.ts';
import type { AnyFact, FactValue, NeedsOf, NeedValues } from './fact.ts';
import type { Until } from './wait.ts';

/** The configuration and the named ports of a program's steps. */
export interface World {
  readonly config: unknown;
  readonly ports: object;
}

/**
 * Effect of a step besides its fact. `reads`: only reads; `doctor` runs it too. `locks`: its lock
 * lives as long as the process, so each run takes it again. `destroys`: loses data on the machine;
 * after it, a resumed run reuses finished steps. `leaves`: the host goes away, and no step follows.
 */
export type Effect = 'reads' | 'locks' | 'destroys' | 'leaves';

/** The scope that every step has besides its ports. */
export interface StepScope<Config> {
  readonly config: Config;
  /** Aborted when the step must end, with the reason of the end. */
  readonly signal: AbortSignal;
  readonly progress: (progress: Progress) => void;
  /**
   * Reports that work continues without news. The text beside the stage is then renewed in time, so
   * that the service does not time the stage out; the step limits its own time.
   */
  readonly alive: (doing?: string) => void;
  /** Waits until a condition holds, and reports the missing condition. */
  readonly until: Until;
  readonly note: Note;
  /** Registers a secret, which is masked in all output from now on. */
  readonly hide: (secret: Secret) => void;
  /** A text without the secrets known so far: from settings, and all that `hide` registered. */
  readonly mask: (text: string) => string;
  /**
   * Registers an undo function for a failure of the step, or for its end in any case; undo
   * functions run in reverse order.
   */
  readonly onExit: (undo: () => Promise<void>, when: 'always' | 'failure') => void;
}

/** The scope of a step: the common part and the ports that it uses. */
export type Scope<W extends World, Uses extends keyof W['ports']> = StepScope<W['config']> &
  Pick<W['ports'], Uses>;

/** One step of a role, described and executable. */
export interface Step<
  W extends World,
  Uses extends keyof W['ports'],
  Needs extends NeedsOf,
  Gives extends AnyFact | undefined,
> {
  /** `area/verb-noun`, unique in a role; it names the step in journals, logs and plans. */
  readonly id: string;
  /** An imperative sentence for people. */
  readonly title: string;
  /**
   * The stage that the inventory service shows while this step runs; default: the stage of the step
   * before.
   */
  readonly stage?: Stage;
  /** The text beside the stage when the step starts; default: empty. */
  readonly stageInfo?: (config: W['config'], needs: NeedValues<Needs>) => string;
  readonly uses: readonly Uses[];
  readonly needs?: Needs;
  readonly gives?: Gives;
  readonly when?: Condition<W['config']>;
  /**
   * For a step that gives no fact: the reason why earlier facts make it needless, or undefined to
   * run it.
   */
  readonly skipIf?: (needs: NeedValues<Needs>, config: W['config']) => string | undefined;
  /** Default: no effect that matters to a resumed run. Every step is safe to run again. */
  readonly effect?: Effect;
  /**
   * Checks of the configuration for callers before a run; `run` makes the same checks. Each throws
   * an AgentError.
   */
  readonly requires?: readonly ((config: W['config']) => void)[];
  readonly retry?: { readonly attempts: number; readonly every: Millis };
  readonly limit: Millis;
  /**
   * Explains the choice for this configuration and its reason, or the condition for which the step
   * waits.
   */
  readonly explain?: (config: W['config']) => string;
  /**
   * Commands of `run` as data, made by its argv builders, for a plan. A step that loses data from
   * before the installation shows each command that does so. A program whose arguments depend on
   * the found state is written as by `callsOf`.
   */
  readonly preview?: (
    config: W['config'],
    needs: NeedValues<Needs>,
  ) => readonly (readonly string[])[];
  readonly run: (
    scope: Scope<W, Uses>,
    needs: NeedValues<Needs>,
  ) => Promise<Gives extends AnyFact ? FactValue<Gives> : void>;
}

/** Any step of a program, where its own facts and ports do not matter. */
// oxlint-disable-next-line typescript/no-explicit-any -- a list of steps of many types
export type AnyStep<W extends World> = Step<W, keyof W['ports'], any, any>;

/** The `step` function of a program, bound to its configuration and ports. */
export type DefineStep<W extends World> = <
  const Uses extends keyof W['ports'],
  const Needs extends NeedsOf = Readonly<Record<string, never>>,
  const Gives extends AnyFact | undefined = undefined,
>(
  definition: Step<W, Uses, Needs, Gives>,
) => Step<W, Uses, Needs, Gives>;

/** Makes the `step` function of a program. */
export function stepsOf<W extends World>(): DefineStep<W> {
  return (definition) => definition;
}
