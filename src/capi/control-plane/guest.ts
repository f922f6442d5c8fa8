import { clusterNotSettled } from '../../cluster/operators.ts';
import { etcdEndpoints, etcdMembers, etcdNamespace } from '../../cluster/etcd.ts';
import { installConfigRef } from '../../cluster/install-config.ts';
import {
  certificateSigningRequests,
  clusterOperators,
  clusterVersions,
  configMaps,
  nodes,
  pods,
} from '../../kube/kinds.ts';
import { nodeLabel, readinessOf } from '../../cluster/node.ts';
import { countAt, textAt } from '../../kube/object.ts';
import { limited } from '../../engine/limit.ts';
import { seconds } from '../../model/duration.ts';
import type { Clock } from '../../ports/clock.ts';
import { kubeFailure } from '../../ports/kube-failures.ts';
import { type Kube, type KubeObject, type KubeSelection, selectionOf } from '../../ports/kube.ts';
import { type Informer, informer } from '../../kube/informer.ts';
import type { GuestView } from './guest-hosts.ts';

/** Reads the kubeconfig of a guest; undefined if it does not exist. */
type ReadKubeconfig = (signal: AbortSignal) => Promise<string | undefined>;

/** Opens the API of an installed cluster by one of its kubeconfigs. */
export type OpenGuest = (
  kubeconfig: ReadKubeconfig,
) => Kube & { readonly close: () => Promise<void> };

/** An installed cluster that is followed. */
export interface Guest {
  /** The reason why its API does not answer; undefined while it does. */
  readonly gap: () => string | undefined;
  readonly seen: () => GuestView;
}

/** The machine-config operator runs the masters' config servers in this namespace. */
const namespace = 'openshift-machine-config-operator';

const configServers = {
  kind: { group: 'apps', version: 'v1', plural: 'daemonsets' },
  namespace,
  name: 'machine-config-server',
};

/**
 * The machine-config operator of 4.19 and newer keeps the config servers' authority here
 * (`pkg/controller/certrotation`); in older clusters, `oc adm ocp-certificates
 * regenerate-machine-config-server-serving-cert` does. Without it, the installer's authority holds.
 */
const configServerAuthority = { kind: configMaps, namespace, name: 'machine-config-server-ca' };

/** The control plane decides nothing during this read, and reads its masters again soon. */
const mastersLimit = seconds(5);

/**
 * Reads, without the informers, the objects that decide whether a master can be removed. Without
 * members of etcd none can, if the cluster does not answer within a few seconds.
 * @throws the signal's reason
 */
export async function readMasters(
  kube: Pick<Kube, 'get' | 'list'>,
  clock: Clock,
  signal: AbortSignal,
): Promise<Partial<Pick<GuestView, 'nodes' | 'etcd'>>> {
  const late = (): Error => kubeFailure('kube.unreachable', 'the masters cannot be looked at');
  try {
    const [ofNodes, ofPods, endpoints] = await limited(
      clock,
      { limit: mastersLimit, signal, late },
      (inner) =>
        Promise.all([
          kube.list({ kind: nodes }, inner),
          kube.list({ kind: pods, namespace: etcdNamespace }, inner),
          kube.get(etcdEndpoints, inner),
        ]),
    );
    return { nodes: ofNodes, etcd: etcdMembers(endpoints, ofPods) };
  } catch {
    signal.throwIfAborted();
    return { etcd: undefined };
  }
}

type Stores = Readonly<
  Record<
    | 'nodes'
    | 'configServers'
    /** The ConfigMap with the config servers' authority. */
    | 'authorities'
    /** CertificateSigningRequests. */
    | 'requests'
    /** The ConfigMap with the install-config. */
    | 'installConfigs'
    | 'versions'
    | 'operators',
    Informer
  >
>;

/** The guest by its informers. */
function seenIn(kube: Kube, stores: Stores): GuestView {
  const { versions, operators } = stores;
  const clusterVersion = versions.get('version');
  const authorities = textAt(stores.authorities.all()[0], 'data', 'ca-bundle.crt');
  const isPem = authorities.includes('-----BEGIN CERTIFICATE-----');
  const gap = versions.gap() ?? operators.gap();
  return {
    kube,
    nodes: stores.nodes.all(),
    requests: stores.requests.all(),
    installConfig: stores.installConfigs.all()[0],
    clusterVersion,
    configServerCa: isPem ? authorities : undefined,
    hasConfigServer: hasConfigServer(stores),
    notSettled: gap?.reason ?? clusterNotSettled(clusterVersion, operators.all()),
  };
}

function hasConfigServer({ configServers: servers, nodes: all }: Stores): boolean {
  const [server] = servers.all();
  if (server !== undefined) return countAt(server, 'status', 'numberReady') > 0;
  if (servers.gap() !== undefined) return false;
  const labels = [nodeLabel('master'), 'node-role.kubernetes.io/control-plane'];
  const isMaster = ({ metadata }: KubeObject): boolean =>
    labels.some((label) => metadata.labels?.[label] !== undefined);
  return all.all().some((node) => isMaster(node) && readinessOf(node).isReady);
}

interface FollowedGuest extends Guest {
  readonly uid: string;
  readonly end: () => Promise<void>;
}

/** The guests of all control planes; `changed` gets the key of each changed one. */
export function guestsOf(
  { open, clock }: { readonly open: OpenGuest; readonly clock: Clock },
  changed: (key: string) => void,
) {
  const followed = new Map<string, FollowedGuest>();
  const close = async (key: string): Promise<void> => {
    const guest = followed.get(key);
    followed.delete(key);
    await guest?.end();
  };
  const start = (key: string, uid: string, kubeconfig: ReadKubeconfig): FollowedGuest => {
    const kube = open(kubeconfig);
    const stop = new AbortController();
    const store = (selection: KubeSelection): Informer => informer({ kube, clock }, selection);
    const stores: Stores = {
      nodes: store({ kind: nodes }),
      configServers: store(selectionOf(configServers)),
      authorities: store(selectionOf(configServerAuthority)),
      requests: store({ kind: certificateSigningRequests }),
      installConfigs: store(selectionOf(installConfigRef)),
      versions: store(selectionOf({ kind: clusterVersions, name: 'version' })),
      operators: store({ kind: clusterOperators }),
    };
    for (const one of Object.values(stores)) {
      one.onChange(() => changed(key));
      one.onGap(() => changed(key));
    }
    // An unreadable kubeconfig shows as a gap.
    const runs = Object.values(stores).map((one) => one.run(stop.signal).catch(() => undefined));
    return {
      uid,
      gap: () => stores.nodes.gap()?.reason,
      seen: () => seenIn(kube, stores),
      end: async () => {
        stop.abort(new Error('the guest is not followed any more'));
        await Promise.all(runs);
        await kube.close();
      },
    };
  };
  return {
    /**
     * The guest of a control plane. It is followed from the first call on; a new control plane of
     * the same name gets a new guest.
     */
    follow: (key: string, uid: string, kubeconfig: ReadKubeconfig): Guest => {
      const before = followed.get(key);
      if (before?.uid === uid) return before;
      void close(key);
      const guest = start(key, uid, kubeconfig);
      followed.set(key, guest);
      return guest;
    },
    close,
    closeAll: async (): Promise<void> => {
      await Promise.all([...followed.keys()].map(close));
    },
  };
}
