import { join } from 'node:path/posix';
import { calmTimeouts } from '../adapters/kube/api-server.ts';
import { type KubeCluster, kubeCluster, type KubeOptions } from '../adapters/kube/kube.ts';
import { systemPorts } from '../adapters/clock.ts';
import type { Environment } from '../config/environment.ts';
import { proxiesIn } from '../config/load.ts';
import { flagFailure } from '../config/failures.ts';
import { readNamed } from '../config/files.ts';
import { hostInUrl } from '../lib/address.ts';
import type { Kube } from '../ports/kube.ts';
import { trimObject } from '../controllers/trim-object.ts';
import { cliFailure } from './failures.ts';
import { printWaiting } from './waiting.ts';
import { untilStopped } from './stop-signal.ts';

/**
 * The kubelet mounts the service account of a pod here (kubernetes.io, "Accessing the API from a
 * Pod").
 */
const accountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount';

function serverIn(environment: Environment): string {
  const host = environment['KUBERNETES_SERVICE_HOST'] ?? '';
  if (host === '') {
    throw cliFailure(
      'cli.not-in-cluster',
      'KUBERNETES_SERVICE_HOST is not set, and no kubeconfig is given',
    );
  }
  const port = environment['KUBERNETES_SERVICE_PORT'] ?? '443';
  return `https://${hostInUrl(host)}:${port}`;
}

/**
 * The credentials of a command: from a kubeconfig, or from the service account of its pod. They are
 * read again for each use, as the kubelet replaces a pod's token every hour.
 * @throws AgentError `cli.not-in-cluster`, `config.file-not-read` before the first request
 */
export async function commandCredentials(
  environment: Environment,
  kubeconfig: string | undefined,
  directory = accountDirectory,
): Promise<() => Promise<string>> {
  const read = async (): Promise<string> => {
    if (kubeconfig !== undefined) return readText(kubeconfig);
    const server = serverIn(environment);
    const [token, ca] = await Promise.all([
      readText(join(directory, 'token')),
      readText(join(directory, 'ca.crt')),
    ]);
    return podKubeconfig(server, { token, ca });
  };
  const first = await read();
  // A pipe of a shell gives its text only once.
  return async () => (await read()) || first;
}

function podKubeconfig(server: string, { token, ca }: Record<'token' | 'ca', string>): string {
  const name = 'pod';
  const cluster = { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name, cluster }],
    users: [{ name, user: { token: token.trim() } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  });
}

const readText = (path: string): Promise<string> => readNamed({ path, kind: 'settings' });

/**
 * Connects to the cluster of a kubeconfig through the user's proxies. A stop ends the work with the
 * exit code of the signal.
 */
export const withCluster = (
  kubeconfig: string,
  work: (kube: Kube, signal: AbortSignal) => Promise<number>,
): Promise<number> =>
  untilStopped(async (signal) => {
    const credentials = await commandCredentials({}, kubeconfig);
    let reason = '';
    const kube = kubeCluster({
      ...systemPorts,
      credentials,
      proxies: proxiesIn(process.env),
      emit: (event) => {
        const failed = event.type === 'note' ? event.fields['reason'] : undefined;
        reason = failed === undefined ? '' : `: ${String(failed)}`;
      },
    });
    try {
      return await printWaiting(
        () => `the cluster of ${kubeconfig}${reason}`,
        () => work(kube, signal),
      );
    } finally {
      await kube.close();
    }
  });

/** A Cluster of Cluster API, with the client of its management cluster. */
export interface ClusterTarget extends AsyncDisposable {
  readonly kube: KubeCluster;
  readonly namespace: string;
  readonly name: string;
}

/** Options by which a command names a Cluster. */
export interface ClusterCall {
  readonly environment: Environment;
  /** NAMESPACE/NAME. */
  readonly cluster?: string;
  /** Kubeconfig of the management cluster; default: the service account of the pod. */
  readonly kubeconfig?: string;
}

/**
 * Connects to the management cluster of a Cluster through the user's proxies.
 * @throws AgentError `cli.bad-flag`, `cli.not-in-cluster`, `config.file-not-read`
 */
export async function clusterTarget(
  command: string,
  { environment, kubeconfig, cluster = '' }: ClusterCall,
): Promise<ClusterTarget> {
  const [, namespace, name] = /^([^/]+)\/([^/]+)$/.exec(cluster) ?? [];
  if (namespace === undefined || name === undefined) {
    throw flagFailure('cli.bad-flag', `\`${command}\`: --cluster is NAMESPACE/NAME`, {
      hint: `see "bootwright help ${command}"`,
    });
  }
  const kube = kubeCluster({
    credentials: await commandCredentials(environment, kubeconfig),
    ...systemPorts,
    proxies: proxiesIn(environment),
    emit: () => undefined,
  });
  return { kube, namespace, name, [Symbol.asyncDispose]: () => kube.close() };
}

/**
 * The client of a program that follows a whole cluster until it is stopped: it caches little of
 * what it follows, and its watches are long.
 */
export const followingCluster = (options: Pick<KubeOptions, 'credentials' | 'emit'>): KubeCluster =>
  kubeCluster({
    ...options,
    ...systemPorts,
    keep: trimObject,
    followTimeouts: () => calmTimeouts,
  });
