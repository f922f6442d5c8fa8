import { etcdEndpoints, etcdMembers, etcdNamespace } from '../../cluster/etcd.ts';
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
import {
  type Kube,
  type KubeKind,
  type KubeObject,
  type KubeSelection,
  selectionOf,
} from '../../ports/kube.ts';
import { type Informer, informer } from '../../kube/informer.ts';
import type { GuestSeen } from './guest-hosts.ts';
import { isMarked } from './remediate.ts';
import type { ControlPlaneView } from './view.ts';

/** Reads the kubeconfig of a guest; undefined where there is none. */
type ReadKubeconfig = (signal: AbortSignal) => Promise<string | undefined>;

/** The API of a cluster that was installed, by one of its kubeconfigs. */
export type OpenGuest = (
  kubeconfig: ReadKubeconfig,
) => Kube & { readonly close: () => Promise<void> };

/** A guest that is followed. */
export interface Guest {
  readonly kube: Kube;
  readonly clock: Clock;
  readonly nodes: Informer;
  readonly configServers: Informer;
  /** The ConfigMap with their authority. */
  readonly authorities: Informer;
  /** Requests for certificates. */
  readonly requests: Informer;
  readonly clusterVersion: Informer;
  readonly clusterOperators: Informer;
  /** Why its API does not answer; undefined while it does. */
  readonly gap: () => string | undefined;
}

/** A guest by the control plane that it is of. */
interface WantedGuest {
  readonly uid: string;
  readonly kubeconfig: ReadKubeconfig;
}

/** The guests of all control planes. */
export interface Guests {
  /**
   * The guest of a control plane, followed from the first call on, and again where it is another
   * one of the name.
   */
  readonly follow: (key: string, wanted: WantedGuest) => Guest;
  readonly get: (key: string) => Guest | undefined;
  readonly close: (key: string) => Promise<void>;
  readonly closeAll: () => Promise<void>;
}

const daemonSets: KubeKind = { group: 'apps', version: 'v1', plural: 'daemonsets' };

/** Where the machine-config operator runs the config servers of masters. */
const namespace = 'openshift-machine-config-operator';

/**
 * Where the machine-config operator of 4.19 and newer keeps the authority of the config servers
 * (`pkg/controller/certrotation`), and `oc adm ocp-certificates
 * regenerate-machine-config-server-serving-cert` does in older clusters. Without it that of the
 * installer holds.
 */
export const configServerAuthority = {
  kind: configMaps,
  namespace,
  name: 'machine-config-server-ca',
} as const;

/** PEM of the authorities by which the config servers are trusted. */
export function configServerCaIn(configMap: KubeObject | undefined): string | undefined {
  const bundle = textAt(configMap, 'data', 'ca-bundle.crt');
  return bundle.includes('-----BEGIN CERTIFICATE-----') ? bundle : undefined;
}

/**
 * Whether a config server of a master answers; where the cluster shows none, whether a master is
 * ready that could run one.
 */
export function hasConfigServer(guest: Guest | undefined): boolean {
  if (guest === undefined) return false;
  const { nodes: ofNodes, configServers } = guest;
  const [servers] = configServers.all();
  if (servers !== undefined) return countAt(servers, 'status', 'numberReady') > 0;
  return ofNodes.all().some((node) => isMaster(node) && readinessOf(node).isReady);
}

/** A control plane decides nothing meanwhile, and its masters are looked at again soon. */
const mastersLimit = seconds(5);

/**
 * What decides whether a master can be spared, by requests of its own.
 * @throws AgentError `kube.*`, `kube.unreachable` where it takes longer than a few seconds; the
 * signal's reason
 */
export async function readMasters(
  { kube, clock }: Pick<Guest, 'kube' | 'clock'>,
  signal: AbortSignal,
): Promise<Pick<GuestSeen, 'nodes' | 'etcd'>> {
  const late = (): Error => kubeFailure('kube.unreachable', 'the masters cannot be looked at');
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
}

/** As its informers show it; what decides about a master that is to be replaced is read again. */
export async function guestSeen(
  guest: Guest | undefined,
  { hosts }: Pick<ControlPlaneView, 'hosts'>,
  signal: AbortSignal,
): Promise<GuestSeen | undefined> {
  if (guest === undefined) return undefined;
  const seen = {
    nodes: guest.nodes.all(),
    requests: guest.requests.all(),
    clusterVersion: guest.clusterVersion.get('version'),
    configServerCa: configServerCaIn(guest.authorities.all()[0]),
  };
  if (!hosts.some(({ machine }) => isMarked(machine))) return seen;
  try {
    return { ...seen, ...(await readMasters(guest, signal)) };
  } catch {
    signal.throwIfAborted();
    return seen;
  }
}

const masterLabels = [nodeLabel('master'), 'node-role.kubernetes.io/control-plane'];

const isMaster = ({ metadata: { labels = {} } }: KubeObject): boolean =>
  masterLabels.some((label) => labels[label] !== undefined);

interface Followed extends Guest {
  readonly uid: string;
  readonly end: () => Promise<void>;
}

/** Follows guests; `changed` hears the key of each that changes. */
export function guestsOf(
  { open, clock }: { readonly open: OpenGuest; readonly clock: Clock },
  changed: (key: string) => void,
): Guests {
  const followed = new Map<string, Followed>();
  const close = async (key: string): Promise<void> => {
    const guest = followed.get(key);
    followed.delete(key);
    await guest?.end();
  };
  const start = (key: string, { uid, kubeconfig }: WantedGuest): Followed => {
    const kube = open(kubeconfig);
    const stop = new AbortController();
    const store = (selection: KubeSelection): Informer => informer({ kube, clock }, selection);
    const stores = {
      nodes: store({ kind: nodes }),
      configServers: store(
        selectionOf({ kind: daemonSets, namespace, name: 'machine-config-server' }),
      ),
      authorities: store(selectionOf(configServerAuthority)),
      requests: store({ kind: certificateSigningRequests }),
      clusterVersion: store(selectionOf({ kind: clusterVersions, name: 'version' })),
      clusterOperators: store({ kind: clusterOperators }),
    };
    for (const one of Object.values(stores)) {
      one.onChange(() => changed(key));
      one.onGap(() => changed(key));
    }
    // A kubeconfig that cannot be read shows as a gap.
    const runs = Object.values(stores).map((one) => one.run(stop.signal).catch(() => undefined));
    return {
      kube,
      clock,
      uid,
      ...stores,
      gap: () => stores.nodes.gap()?.reason,
      end: async () => {
        stop.abort(new Error('the guest is not followed any more'));
        await Promise.all(runs);
        await kube.close();
      },
    };
  };
  return {
    follow: (key, wanted) => {
      const before = followed.get(key);
      if (before?.uid === wanted.uid) return before;
      void close(key);
      const guest = start(key, wanted);
      followed.set(key, guest);
      return guest;
    },
    get: (key) => followed.get(key),
    close,
    closeAll: async () => {
      await Promise.all([...followed.keys()].map(close));
    },
  };
}
