import type { AgentError } from '../../model/failure.ts';
import type { Clock } from '../../ports/clock.ts';

/**
 * Says since when the API server is in trouble. The text stays the same as long as the trouble is of
 * one kind, although each attempt may fail in another way.
 */
export function apiTroubleOf(
  clock: Clock,
): (trouble: AgentError | undefined) => string | undefined {
  let known: { readonly code: string; readonly text: string } | undefined;
  return (trouble) => {
    if (trouble === undefined) known = undefined;
    else if (trouble.code !== known?.code) {
      const time = new Date(clock.now()).toISOString().slice(11, 19);
      const what =
        trouble.code === 'kube.no-credentials'
          ? 'there are no credentials for the cluster'
          : 'the API server does not answer';
      known = { code: trouble.code, text: `${what} since ${time} UTC: ${trouble.message}` };
    }
    return known?.text;
  };
}
