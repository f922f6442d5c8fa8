import { seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { unlessAborted } from '../http/exchange.ts';
import { ApiError } from './api-error.ts';
import { type ApiServer, apiServer, type OpenApiServer, type ReachOptions } from './api-server.ts';
import { readKubeconfig } from './kubeconfig.ts';

/** Resolves with the text of the kubeconfig; undefined if absent yet. */
export type Credentials = (signal: AbortSignal) => Promise<string | undefined>;

/** The API server, as soon as there are credentials for it. */
export interface Session {
  /**
   * @throws ApiError while there are no credentials; AgentError `kube.bad-credentials` if they
   * cannot be used; the signal's reason
   */
  readonly server: (signal: AbortSignal) => Promise<ApiServer>;
  /** Marks the credentials as rejected: the next caller looks for newer ones. */
  readonly doubt: () => void;
  readonly close: () => Promise<void>;
}

/** Connections with one kubeconfig. */
interface Connections {
  readonly text: string;
  readonly server: OpenApiServer;
  /** Number of requests under way. */
  requests: number;
}

/** Interval of the check for missing credentials. */
const pause = seconds(1);

/** Opens a session; reads nothing and does not connect before its first use. */
export function session(credentials: Credentials, reach: ReachOptions): Session {
  const closing = new AbortController();
  const open = new Set<Connections>();
  let known: Connections | undefined;
  let isDoubted = false;
  let loading: Promise<ApiServer> | undefined;

  /** Closes connections with older credentials, unless an answer is under way. */
  const retire = (one: Connections): void => {
    if (one === known || one.requests > 0) return;
    void one.server.close().finally(() => open.delete(one));
  };
  const load = async (): Promise<ApiServer> => {
    const text = await credentials(closing.signal).catch((error: unknown) => {
      closing.signal.throwIfAborted();
      throw missing(error);
    });
    if (text === undefined || text.trim() === '') {
      // Older credentials are better than none.
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
  // Holders of this client always use the newest credentials.
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
      // The caller that started it may have stopped, and no other may wait for it.
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
