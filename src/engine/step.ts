import type { Millis } from '../model/duration.ts';
import type { Secret } from '../model/secret.ts';
import type { Stage } from '../model/stage.ts';
import type { Condition } from './condition.ts';
import type { Note, Progress } from './events.ts';
import type { AnyFact, FactValue, NeedsOf, NeedValues } from './fact.ts';
import type { Until } from './wait.ts';

/**
 * What a program's steps work on: its configuration, and its ways to reach the world by their
 * names.
 */
export interface World {
  readonly config: unknown;
  readonly ports: object;
}

/**
 * What a step does beside giving a fact. `reads`: it only looks, and `doctor` runs it too. `locks`:
 * what it takes lives as long as the process, so each run takes it. `destroys`: data is lost on
 * the machine; from there a resumed run keeps what is finished. `leaves`: the host goes away, and
 * nothing comes after it.
 */
export type Effect = 'reads' | 'locks' | 'destroys' | 'leaves';

/** What every step has at hand beside the ports it names. */
export interface StepScope<Config> {
  readonly config: Config;
  /** Aborted when the step must end; its reason is the failure that ended it. */
  readonly signal: AbortSignal;
  readonly progress: (progress: Progress) => void;
  /**
   * Says that work continues without news. The text beside the stage is then renewed in time, so
   * that the service leaves the end of it to the step.
   */
  readonly alive: (doing?: string) => void;
  /** Waits until a condition holds, and reports what is missing. */
  readonly until: Until;
  readonly note: Note;
  /** Has a secret that was read taken out of all that is shown from now on. */
  readonly hide: (secret: Secret) => void;
  /** A text without the secrets that are known so far: settings and all that was hidden. */
  readonly mask: (text: string) => string;
  /** Registers what must be undone when the step fails, or whenever it ends; runs in reverse. */
  readonly onExit: (undo: () => Promise<void>, when: 'always' | 'failure') => void;
}

/** The scope of a step: the common part and the ports it named. */
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
  /** The stage that the inventory service sees while this step runs; none: as the step before. */
  readonly stage?: Stage;
  /** The text beside the stage when the step starts; empty unless given. */
  readonly stageInfo?: (config: W['config'], needs: NeedValues<Needs>) => string;
  readonly uses: readonly Uses[];
  readonly needs?: Needs;
  readonly gives?: Gives;
  readonly when?: Condition<W['config']>;
  /** For a step that gives nothing: why earlier facts make it needless, or undefined to run it. */
  readonly skipIf?: (needs: NeedValues<Needs>, config: W['config']) => string | undefined;
  /** Nothing that matters to a resumed run unless given; every step is safe to run again. */
  readonly effect?: Effect;
  /**
   * Checks of the configuration that `run` makes too, for whoever asks before a run; each throws an
   * AgentError.
   */
  readonly requires?: readonly ((config: W['config']) => void)[];
  readonly retry?: { readonly attempts: number; readonly every: Millis };
  readonly limit: Millis;
  /** Says what was chosen for this configuration and why, or what the step waits for. */
  readonly explain?: (config: W['config']) => string;
  /**
   * Commands that `run` has as data, by its argv builders, for a plan. What loses data that was
   * there before the installation shows each command that does so. A program whose arguments depend
   * on what is found comes as `callsOf` writes it.
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
