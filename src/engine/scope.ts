import { about, type RunContext } from './context.ts';
import type { UndoStack } from './cleanup.ts';
import type { PlacedStep } from './role.ts';
import type { Scope } from './step.ts';
import { untilOf } from './wait.ts';

/** What one attempt has for itself. */
export interface AttemptOwn {
  readonly signal: AbortSignal;
  readonly undo: UndoStack;
}

/** Builds what a step has at hand: its ports and no others, progress, waits, notes and undo. */
export function scopeOf<Config, Ports>(
  context: RunContext<Config, Ports>,
  placed: PlacedStep<Config, Ports>,
  { signal, undo }: AttemptOwn,
): Scope<Config, Ports, keyof Ports> {
  const who = about(placed);
  const named = Object.fromEntries(placed.step.uses.map((port) => [port, context.ports[port]]));
  return {
    ...(named as Pick<Ports, keyof Ports>),
    config: context.config,
    signal,
    progress: (progress) => {
      context.emit({ type: 'step.progress', ...who, progress });
    },
    until: untilOf(context.clock, signal, {
      updated: (update) => {
        context.emit({ type: 'wait.updated', ...who, ...update });
      },
      finished: (end) => {
        context.emit({ type: 'wait.finished', ...who, ...end });
      },
    }),
    note: (level, message, fields = {}) => {
      context.emit({ type: 'note', ...who, level, message, fields });
    },
    onExit: undo.push,
  };
}
