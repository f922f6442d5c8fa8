import type { Config } from '../config/schema.ts';
import { stepsOf, type Scope } from '../engine/step.ts';
import type { Ports } from '../ports/ports.ts';

/** The configuration and the ports of Bootwright's steps. */
export interface InstallWorld {
  readonly config: Config;
  readonly ports: Ports;
}

/** Defines a step of a Bootwright role. */
export const step = stepsOf<InstallWorld>();

/** The scope of a step of a Bootwright role. */
export type StepScope<Uses extends keyof Ports> = Scope<InstallWorld, Uses>;

/** The scope of a function that reads or changes the host. */
export type HostScope = Pick<StepScope<'host'>, 'host' | 'signal'>;

/** Calls of programs whose arguments depend on the state of the host, for a preview of the step. */
export const callsOf = (...programs: readonly string[]): readonly (readonly string[])[] =>
  programs.map((program) => [program, '…']);
