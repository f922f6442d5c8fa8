import type { Config } from '../config/schema.ts';
import { stepsOf, type Scope } from '../engine/step.ts';
import type { Ports } from '../ports/ports.ts';

/** Defines a step of a Bootwright role. */
export const step = stepsOf<Config, Ports>();

/** What a step of a Bootwright role has at hand. */
export type StepScope<Uses extends keyof Ports> = Scope<Config, Ports, Uses>;
