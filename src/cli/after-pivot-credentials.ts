import { readFile } from 'node:fs/promises';
import { configFailure } from '../config/failures.ts';
import type { Environment } from '../config/environment.ts';
import { cliFailure } from './failures.ts';

/** Where every pod finds what it may be in its cluster (kubernetes.io, "Accessing the API from a Pod"). */
const accountDirectory = '/var/run/secrets/kubernetes.io/serviceaccount';

/** A token and the authorities of the API server. */
export interface PodAccount {
  readonly token: string;
  /** PEM. */
  readonly ca: string;
}

/**
 * The kubeconfig of a pod.
 * @throws AgentError `cli.not-in-cluster` where the variables of a pod are missing
 */
export function podKubeconfig(environment: Environment, { token, ca }: PodAccount): string {
  const name = 'pod';
  const cluster = {
    server: serverIn(environment),
    'certificate-authority-data': Buffer.from(ca).toString('base64'),
  };
  return JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': name,
    clusters: [{ name, cluster }],
    users: [{ name, user: { token: token.trim() } }],
    contexts: [{ name, context: { cluster: name, user: name } }],
  });
}

function serverIn(environment: Environment): string {
  const host = environment['KUBERNETES_SERVICE_HOST'] ?? '';
  if (host === '') {
    throw cliFailure('cli.not-in-cluster', 'KUBERNETES_SERVICE_HOST is not set, and no kubeconfig');
  }
  const port = environment['KUBERNETES_SERVICE_PORT'] ?? '443';
  return `https://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

/**
 * Where the command finds its credentials: a kubeconfig, or those of its pod. They are read anew
 * whenever they are asked for, as a pod's token is replaced every hour.
 * @throws AgentError `cli.not-in-cluster`, `config.file-not-read` before anything is asked
 */
export async function clusterCredentials(
  environment: Environment,
  kubeconfig: string | undefined,
): Promise<() => Promise<string>> {
  const read = async (): Promise<string> => {
    if (kubeconfig !== undefined) return readText(kubeconfig);
    serverIn(environment);
    const [token, ca] = await Promise.all([
      readText(`${accountDirectory}/token`),
      readText(`${accountDirectory}/ca.crt`),
    ]);
    return podKubeconfig(environment, { token, ca });
  };
  await read();
  return read;
}

async function readText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch (cause) {
    throw configFailure('config.file-not-read', `${path} cannot be read`, {
      cause,
      context: { file: path },
    });
  }
}
