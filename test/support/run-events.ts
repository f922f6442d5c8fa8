import type { RunEventBody } from '../../src/engine/events.ts';

type Of<Type> = Extract<RunEventBody, { readonly type: Type }>;

/** Makes an event of a step from its first value and defaults. */
type Maker<Type, First> = (
  step: string,
  first?: First,
  more?: Partial<Omit<Of<Type>, 'type' | 'step'>>,
) => Of<Type>;

/** The start of a step, with its stage. */
export const started: Maker<'step.started', Of<'step.started'>['stage']> = (
  step,
  stage,
  more = {},
) => ({
  type: 'step.started',
  step,
  title: step,
  attempt: 1,
  ...(stage === undefined ? {} : { stage }),
  ...more,
});

/** Progress of a step, with a text or a percentage. */
export const progressed: Maker<'step.progress', string | number> = (step, how = '', more = {}) => ({
  type: 'step.progress',
  step,
  progress: typeof how === 'string' ? { info: how } : { info: `${how}%`, percent: how },
  ...more,
});

/** A wait of a step, with the missing condition. */
export const waiting: Maker<'wait.updated', string> = (step, status = '', more = {}) => ({
  type: 'wait.updated',
  step,
  sentence: 'it is so',
  status,
  waited: 0,
  limit: 100,
  ...more,
});

/** A successfully ended wait of a step. */
export const waited: Maker<'wait.finished', true> = (step, isReached = true, more = {}) => ({
  type: 'wait.finished',
  step,
  sentence: 'it is so',
  isReached,
  waited: 0,
  ...more,
});
