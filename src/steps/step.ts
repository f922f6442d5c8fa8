import type { Config } from '../config/schema.ts';
import { stepsOf, type Scope } from '../engine/step.ts';
import type { Ports } from '../ports/ports.ts';

/** What the steps of Bootwright work on. */
export interface InstallWorld {
  readonly config: Config;
  readonly ports: Ports;
}

/** Defines a step of a Bootwright role. */
export const step = stepsOf<InstallWorld>();

/** What a step of a Bootwright role has at hand. */
export type StepScope<Uses extends keyof Ports> = Scope<InstallWorld, Uses>;

/** What whoever asks the host, or changes it, has at hand. */
export type HostScope = Pick<StepScope<'host'>, 'host' | 'signal'>;

/** Calls of programs whose arguments depend on what the step finds, for its preview. */
export const callsOf = (...programs: readonly string[]): readonly (readonly string[])[] =>
  programs.map((program) => [program, '…']);
