import type { RetryNotice } from '../adapters/http/retry.ts';
import { authoritiesIn } from '../adapters/http/tls.ts';
import type { Config } from '../config/schema.ts';
import { type Emit, notesOf } from '../engine/events.ts';
import { revealedProxies } from '../lib/proxies.ts';
import { renderDuration } from '../model/duration.ts';

/**
 * The network settings by which every command reaches every server but the API server (ADR 0033).
 * @throws AgentError `web.bad-authority`
 */
export const networkOf = async ({ service, proxy }: Pick<Config, 'service' | 'proxy'>) => ({
  proxies: revealedProxies(proxy),
  ...(service.caFile === '' || service.insecure ? {} : { ca: await authoritiesIn(service.caFile) }),
});

/** Logs each retry of a request. */
export const emitRetries =
  (emit: Emit) =>
  ({ what, failure, attempt, delay }: RetryNotice): void => {
    const fields = {
      what,
      code: failure.code,
      reason: failure.message,
      attempt,
      delay: renderDuration(delay),
    };
    notesOf(emit, 'service/retry')('warn', 'a request failed and will be retried', fields);
  };
