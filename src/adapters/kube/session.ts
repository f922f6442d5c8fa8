import { seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { unlessAborted } from '../http/exchange.ts';
import { ApiError } from './api-error.ts';
import { type ApiServer, apiServer, type OpenApiServer, type ReachOptions } from './api-server.ts';
import { readKubeconfig } from './kubeconfig.ts';

/** Gives the text of the kubeconfig, or undefined if absent yet. */
export type Credentials = (signal: AbortSignal) => Promise<string | undefined>;

/** The API server as soon as there are credentials for it. */
export interface Session {
  /**
   * @throws ApiError as long as there are no credentials; AgentError `kube.bad-credentials` when
   * they cannot be used; the signal's reason
   */
  readonly server: (signal: AbortSignal) => Promise<ApiServer>;
  /** The credentials did not do: the next caller looks whether there are newer ones. */
  readonly doubt: () => void;
  readonly close: () => Promise<void>;
}

/** Connections by one kubeconfig. */
interface Opened {
  readonly text: string;
  readonly server: OpenApiServer;
  /** Under way. */
  requests: number;
}

/** Credentials that are not there yet are looked for this often. */
const pause = seconds(1);

/** Opens a session; nothing is read or connected to before it is used. */
export function session(credentials: Credentials, reach: ReachOptions): Session {
  const closing = new AbortController();
  const open = new Set<Opened>();
  let known: Opened | undefined;
  let isDoubted = false;
  let loading: Promise<ApiServer> | undefined;

  /** Closes connections by older credentials, unless somebody is in the middle of an answer. */
  const retire = (one: Opened): void => {
    if (one === known || one.requests > 0) return;
    void one.server.close().finally(() => open.delete(one));
  };
  const load = async (): Promise<ApiServer> => {
    const text = await credentials(closing.signal).catch((error: unknown) => {
      closing.signal.throwIfAborted();
      throw missing(error);
    });
    if (text === undefined || text.trim() === '') {
      // What was there once is still better than nothing.
      if (known === undefined) throw missing(undefined);
    } else if (known?.text !== text) {
      const before = known;
      known = { text, server: apiServer(readKubeconfig(text), reach), requests: 0 };
      open.add(known);
      if (before !== undefined) retire(before);
    }
    isDoubted = false;
    return client;
  };
  // Whoever holds it asks by the newest credentials.
  const client: ApiServer = {
    ask: async (...request) => {
      if (known === undefined) throw missing(undefined);
      const one = known;
      one.requests += 1;
      try {
        return await one.server.ask(...request);
      } finally {
        one.requests -= 1;
        retire(one);
      }
    },
  };

  return {
    server: async (signal) => {
      closing.signal.throwIfAborted();
      if (known !== undefined && !isDoubted) return client;
      loading ??= load().finally(() => {
        loading = undefined;
      });
      // Whoever began it may be stopped by now, and nobody else wait for it.
      loading.catch(() => undefined);
      return unlessAborted(loading, signal);
    },
    doubt: () => {
      isDoubted = true;
    },
    close: async () => {
      closing.abort(new Error('the connections to the cluster are closed'));
      await Promise.all([...open].map(({ server }) => server.close()));
    },
  };
}

function missing(reason: unknown): ApiError {
  const because = reason instanceof AgentError ? `: ${reason.message}` : '';
  const failure = kubeFailure(
    'kube.no-credentials',
    `there is no kubeconfig yet${because}`,
    reason === undefined ? {} : { cause: reason },
  );
  return new ApiError(failure, { notBefore: pause });
}
