import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { BoundPod, KubeClient } from './client.ts';
import {
  type ApiServer,
  type ControlPlane,
  type Etcd,
  startControlPlane,
} from './control-plane.ts';
import { applyCrds } from './crds.ts';
import { type Forwarder, startForwarder } from './forwarder.ts';
import type { KubeUser } from './pki.ts';
import type { ServerControl } from './program.ts';

/** Paths of the real programs and their prepared data. */
export interface KubeParts {
  /** The folder of etcd, kube-apiserver and kube-controller-manager. */
  readonly binaries: string;
  /** The definitions of OpenShift's kinds, as `PLURAL.GROUP.yaml`. */
  readonly crds: string;
  /** The data of an etcd with all of these definitions. */
  readonly data: string;
}

/** The initial state that a test needs. */
export interface KubeOptions {
  /**
   * The definitions of OpenShift's kinds. Default: all, copied from data that is prepared once; or
   * some, by name or plural, applied to an empty server; or `[]` for none.
   */
  readonly crds?: readonly string[] | 'all';
  /** Logs each request's user and refusals; see `Kube.audited`. */
  readonly isAudited?: boolean;
}

/** A request in the API server's audit log (audit.k8s.io/v1, `Event`). */
export interface AuditedRequest {
  readonly verb: string;
  /** With the subresource: `nodes`, `pods/log`. */
  readonly resource: string;
  readonly group: string;
  readonly namespace: string;
  readonly name: string;
  /** Status of the answer: 403 if forbidden. */
  readonly status: number;
  /** With the query. */
  readonly path: string;
  /** Time of arrival, in milliseconds since the epoch. */
  readonly at: number;
}

/** A service account by namespace and name; its kubeconfig has a token. */
interface ServiceAccount {
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly pod?: BoundPod;
}

/** A real API server with its etcd on loopback, and functions to cause faults. */
export interface Kube extends AsyncDisposable {
  /**
   * For an administrator, through the forwarder. It refers to no other file, so it works on a
   * simulated host.
   */
  readonly kubeconfig: string;
  /** URL of the first server without the forwarder. */
  readonly url: string;
  /** Has all rights. It reaches the forwarder's present target, also during a partition. */
  readonly client: KubeClient;
  /** A client of a user, through the forwarder; the caller closes it. */
  readonly clientAs: (user: KubeUser) => Promise<KubeClient>;
  /** The first server, which represents the bootstrap host's. */
  readonly api: ApiServer;
  readonly etcd: Etcd;
  /** The address by which hosts know the cluster, and the network to it. */
  readonly forwarder: Forwarder;
  /** Starts another server on the same etcd, which represents the final control plane's. */
  readonly startFinal: () => Promise<ApiServer>;
  /**
   * Starts the server of another cluster, which shares keys and etcd with this one, but no objects.
   */
  readonly startGuest: () => Promise<ApiServer>;
  /** Makes etcd delete its history; see `Etcd.compact`. */
  readonly compact: () => Promise<void>;
  /**
   * Signs certificates, collects garbage and empties terminating namespaces, or runs the named
   * controllers. It uses the given server; default: the first.
   */
  readonly startControllerManager: (options?: {
    readonly server?: ApiServer;
    readonly controllers?: readonly string[];
  }) => Promise<ServerControl>;
  /** A kubeconfig for a user: default an administrator; at a server: default the forwarder. */
  readonly kubeconfigFor: (who: {
    readonly user?: KubeUser | ServiceAccount;
    readonly server?: string;
  }) => Promise<string>;
  /**
   * Makes servers refuse administrators' certificates (401), or accept them again, and waits until
   * they do. In a cluster, an operator gathers their authority from several sources; tokens are not
   * affected.
   */
  readonly refuseAdmins: (isRefused: boolean) => Promise<void>;
  /** A user's requests so far, at an audited server. */
  readonly audited: (user: string) => Promise<readonly AuditedRequest[]>;
  /** Logs, keys and data; removed by `close`. */
  readonly folder: string;
  /** Ends and removes all programs and files. */
  readonly close: () => Promise<void>;
}

const copy = promisify(execFile);

/**
 * Starts etcd and an API server in a temporary folder, in about three seconds. They end with this
 * process, however it ends.
 */
export async function startKube(parts: KubeParts, options: KubeOptions = {}): Promise<Kube> {
  await using ends = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'bootwright-kube-'));
  ends.defer(() => rm(folder, { recursive: true, force: true }));
  const { crds = 'all' } = options;
  if (crds === 'all') await copyData(parts.data, folder);
  const plane = await startControlPlane(parts.binaries, folder, options);
  ends.defer(plane.close);
  const api = await plane.addServer('api');
  if (crds !== 'all' && crds.length > 0) await applyCrds(api.client, parts.crds, crds);
  const forwarder = await startForwarder(api);
  ends.defer(forwarder.close);
  const target = (): string => `https://127.0.0.1:${forwarder.target()}`;
  const client = await plane.clientFor(target);
  const kubeconfigFor: Kube['kubeconfigFor'] = async ({ user, server = forwarder.url }) => {
    if (user === undefined || !('serviceAccount' in user)) return plane.kubeconfigFor(server, user);
    const token = await client.tokenOf(user.namespace, user.serviceAccount, user.pod);
    return plane.kubeconfigFor(server, { token });
  };
  const kubeconfig = await kubeconfigFor({});
  const opened = ends.move();
  const close = (): Promise<void> => opened.disposeAsync();
  return {
    kubeconfig,
    url: api.url,
    client,
    clientAs: (user) => plane.clientFor(() => forwarder.url, user),
    api,
    etcd: plane.etcd,
    forwarder,
    startFinal: finalServers(plane),
    startGuest: () => plane.addServer('guest', '/guest'),
    compact: plane.etcd.compact,
    startControllerManager: ({ server = api, controllers } = {}) =>
      plane.addControllerManager(server, controllers),
    kubeconfigFor,
    refuseAdmins: async (isRefused) => {
      await plane.trustAdmins(!isRefused, target());
    },
    audited: (user) => readAudit(join(folder, 'audit.log'), user),
    folder,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function finalServers(plane: ControlPlane): () => Promise<ApiServer> {
  let started = 0;
  return () => {
    started += 1;
    return plane.addServer(started === 1 ? 'final' : `final-${started}`);
  };
}

/** etcd reserves 64 MB for a log with little content: copies only the written part. */
async function copyData(data: string, folder: string): Promise<void> {
  await copy('cp', [
    '--recursive',
    '--sparse=always',
    '--reflink=auto',
    data,
    join(folder, 'etcd'),
  ]);
}

interface AuditEvent {
  readonly auditID: string;
  readonly verb: string;
  readonly requestURI: string;
  readonly requestReceivedTimestamp: string;
  readonly user: { readonly username: string };
  readonly objectRef?: Partial<
    Record<'resource' | 'subresource' | 'apiGroup' | 'namespace' | 'name', string>
  >;
  readonly responseStatus?: { readonly code?: number };
}

/** The last line may still be incomplete. */
async function readAudit(file: string, user: string): Promise<readonly AuditedRequest[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').slice(0, -1);
  const events = lines
    .map((line) => JSON.parse(line) as AuditEvent)
    .filter((event) => event.user.username === user && event.objectRef?.resource !== undefined);
  // A watch has two entries, at its start and at its end.
  return [...new Map(events.map((event) => [event.auditID, event])).values()].map(
    ({ verb, objectRef = {}, responseStatus, requestURI: path, requestReceivedTimestamp }) => ({
      verb,
      resource: [objectRef.resource, objectRef.subresource].filter(Boolean).join('/'),
      group: objectRef.apiGroup ?? '',
      namespace: objectRef.namespace ?? '',
      name: objectRef.name ?? '',
      status: responseStatus?.code ?? 0,
      path,
      at: Date.parse(requestReceivedTimestamp),
    }),
  );
}
