import { seconds } from '../../model/duration.ts';
import { AgentError } from '../../model/failure.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { unlessAborted } from '../http/exchange.ts';
import { ApiError } from './api-error.ts';
import { type ApiServer, apiServer, type ReachOptions } from './api-server.ts';
import { readKubeconfig } from './kubeconfig.ts';

/** Gives the text of the kubeconfig, or undefined when there is none yet. */
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

/** Credentials that are not there yet are looked for this often. */
const pause = seconds(1);

/** Opens a session; nothing is read or connected to before it is used. */
export function session(credentials: Credentials, reach: ReachOptions): Session {
  const closing = new AbortController();
  const retired: ApiServer[] = [];
  let known: { readonly text: string; readonly server: ApiServer } | undefined;
  let isDoubted = false;
  let loading: Promise<ApiServer> | undefined;

  const load = async (): Promise<ApiServer> => {
    const text = await credentials(closing.signal).catch((error: unknown) => {
      closing.signal.throwIfAborted();
      throw missing(error);
    });
    if (text === undefined || text.trim() === '') {
      // What was there once is still better than nothing.
      if (known === undefined) throw missing(undefined);
    } else if (known?.text !== text) {
      const server = apiServer(readKubeconfig(text), reach);
      // Others may be in the middle of an answer.
      if (known !== undefined) retired.push(known.server);
      known = { text, server };
    }
    isDoubted = false;
    return known.server;
  };

  return {
    server: async (signal) => {
      closing.signal.throwIfAborted();
      if (known !== undefined && !isDoubted) return known.server;
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
      const servers = known === undefined ? retired : [...retired, known.server];
      await Promise.all(servers.map((server) => server.close()));
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
