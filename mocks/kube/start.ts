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

/** Where the real programs and what they start from are. */
export interface KubeParts {
  /** The folder of etcd, kube-apiserver and kube-controller-manager. */
  readonly binaries: string;
  /** The definitions of OpenShift's kinds, as `PLURAL.GROUP.yaml`. */
  readonly crds: string;
  /** The data of an etcd that has all of these definitions. */
  readonly data: string;
}

/** What a test wants to start from. */
export interface KubeOptions {
  /**
   * The definitions of OpenShift's kinds: all unless said, from data that is prepared once and
   * copied; or some, by name or plural, applied to an empty server; `[]` for none.
   */
  readonly crds?: readonly string[] | 'all';
  /** Keeps who asked what, and what was refused; see `Kube.audited`. */
  readonly isAudited?: boolean;
}

/** A request as the API server saw it (audit.k8s.io/v1, `Event`). */
export interface AuditedRequest {
  readonly verb: string;
  /** With its subresource: `nodes`, `pods/log`. */
  readonly resource: string;
  readonly group: string;
  readonly namespace: string;
  readonly name: string;
  /** Of the answer: 403 for what is not allowed. */
  readonly status: number;
  /** With its query. */
  readonly path: string;
  /** When it came, in milliseconds since the epoch. */
  readonly at: number;
}

/** A service account, by where it is; its kubeconfig has a token. */
interface ServiceAccount {
  readonly namespace: string;
  readonly serviceAccount: string;
  readonly pod?: BoundPod;
}

/** A real API server with its etcd on loopback, and everything that can befall them. */
export interface Kube extends AsyncDisposable {
  /**
   * For an administrator, through the forwarder. It needs no other file, so it can be put on a
   * simulated host.
   */
  readonly kubeconfig: string;
  /** The first server itself, past the forwarder. */
  readonly url: string;
  /**
   * May do everything. It speaks to the server that the forwarder points to, past any partition.
   */
  readonly client: KubeClient;
  /** A client of somebody, through the forwarder; whoever asks for it closes it. */
  readonly clientAs: (user: KubeUser) => Promise<KubeClient>;
  /** The first server, which stands for the one on the bootstrap host. */
  readonly api: ApiServer;
  readonly etcd: Etcd;
  /** The address by which hosts know the cluster, and the network to it. */
  readonly forwarder: Forwarder;
  /** Starts one more server on the same etcd, which stands for one of the final control plane. */
  readonly startFinal: () => Promise<ApiServer>;
  /**
   * Starts the server of another cluster, which shares keys and etcd with this one, and no object.
   */
  readonly startGuest: () => Promise<ApiServer>;
  /** Makes etcd forget its history; see `Etcd.compact`. */
  readonly compact: () => Promise<void>;
  /**
   * Signs certificates, collects garbage and empties namespaces that end, or runs the named
   * controllers. It works through the given server, the first unless said.
   */
  readonly startControllerManager: (options?: {
    readonly server?: ApiServer;
    readonly controllers?: readonly string[];
  }) => Promise<ServerControl>;
  /**
   * A kubeconfig for anybody: without `user` for an administrator, without `server` through the
   * forwarder.
   */
  readonly kubeconfigFor: (who: {
    readonly user?: KubeUser | ServiceAccount;
    readonly server?: string;
  }) => Promise<string>;
  /**
   * Lets servers refuse the certificates of administrators (401), or take them again, and waits
   * until they do. In a cluster their authority is one of several that an operator gathers; whoever
   * has a token is not concerned.
   */
  readonly refuseAdmins: (isRefused: boolean) => Promise<void>;
  /** What a user has asked so far, of a server that is audited. */
  readonly audited: (user: string) => Promise<readonly AuditedRequest[]>;
  /** Logs, keys and data; gone after `close`. */
  readonly folder: string;
  /** Ends and removes everything. */
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

/** etcd reserves 64 MB for a log that holds little: only what is written is copied. */
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

/** The last line may still be in the making. */
async function readAudit(file: string, user: string): Promise<readonly AuditedRequest[]> {
  const lines = (await readFile(file, 'utf8')).split('\n').slice(0, -1);
  const events = lines
    .map((line) => JSON.parse(line) as AuditEvent)
    .filter((event) => event.user.username === user && event.objectRef?.resource !== undefined);
  // A watch is there twice: when it begins, and when it has ended.
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
