import type { RunHappening } from '../../engine/events.ts';
import type { AgentError } from '../../model/failure.ts';

/** Tells once when the API server goes away, and once when it is back, whoever notices first. */
export interface Health {
  readonly failed: (failure: AgentError) => void;
  readonly answered: () => void;
}

/** An API server of which nothing is known yet. */
export function healthOf(tell: (happening: RunHappening) => void): Health {
  let isAway = false;
  return {
    failed: ({ code, message }) => {
      if (isAway) return;
      isAway = true;
      tell({
        type: 'note',
        step: 'cluster/retry',
        level: 'warn',
        message: 'the API server does not answer as it should; it is tried again',
        fields: { code, reason: message },
      });
    },
    answered: () => {
      if (!isAway) return;
      isAway = false;
      tell({
        type: 'note',
        step: 'cluster/retry',
        level: 'info',
        message: 'the API server answers again',
        fields: {},
      });
    },
  };
}
