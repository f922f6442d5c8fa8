// The reading of a kubeconfig is the official client's. Its file is named because the package's
// index, and KubeConfig itself, load the model of every Kubernetes object: 33 to 73 MB of memory
// for a waiting agent, against 1. The version is exact in package.json.
import {
  type Cluster,
  newClusters,
  newContexts,
  newUsers,
  type User,
} from '@kubernetes/client-node/dist/config_types.js';
import { parseDocument } from 'yaml';
import { Secret } from '../../model/secret.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';

/** How an API server is reached, and as whom. */
export interface ClusterAccess {
  /** Base URL without a slash at its end. */
  readonly server: string;
  /** PEM; the system's authorities without it. */
  readonly ca?: string;
  /** Expected in the server's certificate instead of the name in the URL. */
  readonly serverName?: string;
  /** Do not verify the server. */
  readonly isInsecure: boolean;
  /** PEM. */
  readonly certificate?: string;
  /** PEM. */
  readonly key?: Secret;
  /** Value of the Authorization header. */
  readonly authorization?: Secret;
  readonly impersonate?: string;
}

/**
 * Reads the current context of a kubeconfig. It must hold its certificates and keys itself, as the
 * installer writes it: the files that another names lie on another machine. Programs that make
 * credentials are not run, and `proxy-url` does not count: the API server is reached directly.
 * @throws AgentError `kube.bad-credentials`, which never shows the text
 */
export function readKubeconfig(text: string): ClusterAccess {
  const { cluster, user } = currentOf(text);
  refuseFiles({ ...cluster, ...user });
  if (!URL.canParse(cluster.server) || !/^https?:/.test(cluster.server)) {
    throw bad(`the server of cluster ${cluster.name} is not a URL`);
  }
  const authorization = authorizationOf(user);
  return {
    server: cluster.server,
    isInsecure: cluster.skipTLSVerify,
    ...(cluster.caData ? { ca: decode(cluster.caData) } : {}),
    ...(cluster.tlsServerName ? { serverName: cluster.tlsServerName } : {}),
    ...(user.certData ? { certificate: decode(user.certData) } : {}),
    ...(user.keyData ? { key: new Secret(decode(user.keyData)) } : {}),
    ...(authorization === undefined ? {} : { authorization: new Secret(authorization) }),
    ...(user.impersonateUser ? { impersonate: user.impersonateUser } : {}),
  };
}

interface Current {
  readonly cluster: Cluster;
  readonly user: User;
}

function currentOf(text: string): Current {
  const config = parsed(text);
  const name = config['current-context'];
  try {
    const context = newContexts(config['contexts']).find((one) => one.name === name);
    const cluster = newClusters(config['clusters']).find((one) => one.name === context?.cluster);
    // A file of a token is the only one that the client reads here; it would be one of ours.
    const user = newUsers(withoutTokenFiles(config['users'])).find(
      (one) => one.name === context?.user,
    );
    if (cluster !== undefined && user !== undefined) return { cluster, user };
  } catch (error) {
    throw bad(error instanceof Error ? error.message : 'an entry cannot be read');
  }
  throw bad(`the current context ${JSON.stringify(name)} names no cluster and user in it`);
}

function parsed(text: string): Record<string, unknown> {
  // What the parser says of a fault can hold the line with the key in it.
  const document = parseDocument(text, { prettyErrors: false, logLevel: 'silent' });
  const value: unknown = document.errors.length > 0 ? undefined : document.toJS();
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw bad('it is not a YAML mapping');
  }
  return value as Record<string, unknown>;
}

interface UserEntry {
  readonly user?: Readonly<Record<string, unknown>>;
}

/** kubectl's spelling, and the one that the client reads. */
const tokenFileKeys = ['tokenFile', 'token-file'];

function withoutTokenFiles(users: unknown): unknown {
  if (!Array.isArray(users)) return users;
  const entries = users as readonly (UserEntry | null)[];
  if (entries.some((one) => tokenFileKeys.some((key) => one?.user?.[key] !== undefined))) {
    throw new Error('it names the file of a token; only what it holds itself is used');
  }
  return users;
}

function refuseFiles({ caFile, certFile, keyFile }: Partial<Cluster & User>): void {
  const named = [caFile, certFile, keyFile].find((one) => one);
  if (named) throw bad(`it names the file ${named}; only what it holds itself is used`);
}

function authorizationOf({ token, username, password }: User): string | undefined {
  if (token) return `Bearer ${token}`;
  if (!username) return undefined;
  return `Basic ${Buffer.from(`${username}:${password ?? ''}`).toString('base64')}`;
}

const decode = (data: string): string => Buffer.from(data, 'base64').toString('utf8');

const bad = (why: string): Error => kubeFailure('kube.bad-credentials', `the kubeconfig: ${why}`);
