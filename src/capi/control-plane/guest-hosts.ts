import { type KnownCluster, pendingCause } from '../../cluster/csr/hosts-requests.ts';
import { readRequest, type ReadRequest } from '../../cluster/csr/read-request.ts';
import { hostIndexOf } from '../../cluster/host-index.ts';
import { readInstallConfig } from '../../cluster/install-config.ts';
import type { EtcdMembers } from '../../cluster/etcd.ts';
import { addressesOf, readinessOf } from '../../cluster/node.ts';
import { textAt } from '../../kube/object.ts';
import type { InventoryHost } from '../../ports/inventory.ts';
import type { Kube, KubeObject } from '../../ports/kube.ts';
import type { BootstrapConfig, Machine } from '../api.ts';
import { serviceStatusOf } from '../bootstrap/status.ts';
import { givenName, reportedOf } from '../host-checks.ts';
import type { ControlPlaneView } from './view.ts';

/** The installed cluster at the time of a pass. */
export interface GuestView {
  readonly kube: Kube;
  readonly nodes: readonly KubeObject[];
  readonly requests: readonly KubeObject[];
  /** The ConfigMap with the install-config. */
  readonly installConfig: KubeObject | undefined;
  readonly clusterVersion: KubeObject | undefined;
  /**
   * PEM by which the cluster's config servers are trusted now, if it differs from the installer's.
   */
  readonly configServerCa: string | undefined;
  /** Read during the replacement of a master; undefined if the cluster does not show it. */
  readonly etcd?: EtcdMembers | undefined;
  /**
   * Whether a master's config server answers; if the cluster shows none, whether a master is ready
   * that could run one.
   */
  readonly hasConfigServer: boolean;
  /** The reason why the installation has not come to its end. */
  readonly notSettled: string | undefined;
}

/** A stage of a host that follows from its node, as a rebooted host sends no reports. */
export interface NodeReport {
  readonly config: BootstrapConfig;
  readonly machine: Machine;
  readonly stage: 'Joined' | 'Done';
}

/** A host with its names and addresses. */
interface GuestHost {
  readonly config: BootstrapConfig;
  readonly machine: Machine;
  readonly ids: readonly string[];
  readonly names: readonly string[];
  readonly addresses: readonly string[];
}

/** The objects of the hosts of a cluster. */
type HostObjects = Pick<ControlPlaneView, 'allMachines' | 'configs'>;

/** Host names are compared in lower case, as kubelets write them. */
function hostsOf({ allMachines, configs }: HostObjects): readonly GuestHost[] {
  return allMachines.flatMap((machine): readonly GuestHost[] => {
    const { name } = machine.metadata;
    const config = configs.get(machine.spec.bootstrap.configRef?.name ?? name);
    if (config === undefined) return [];
    const reported = reportedOf(machine);
    const names = [name, givenName(config) ?? [], reported.names].flat();
    const { addresses } = reported;
    const ids = [machine.spec.providerID ?? ''].filter((id) => id !== '');
    return [{ config, machine, ids, names: names.map((one) => one.toLowerCase()), addresses }];
  });
}

const idOf = (node: KubeObject): string => textAt(node, 'spec', 'providerID');

/**
 * The nodes of hosts. Each node is matched by a mark that no other host without a node has, in the
 * order of their reliability: the report of the infrastructure may be old, and an address or a name
 * may belong to another host by now. A host that is being deleted is matched only by its id.
 */
function nodesOf(
  hosts: readonly GuestHost[],
  nodes: readonly KubeObject[],
): ReadonlyMap<GuestHost, KubeObject> {
  const found = new Map<GuestHost, KubeObject>();
  const free = new Set(nodes);
  const take = (all: readonly GuestHost[], key: 'ids' | 'names' | 'addresses'): void => {
    const marks = all
      .filter((host) => !found.has(host))
      .flatMap((host) => host[key].map((mark) => ({ host, mark })));
    const byMark = Map.groupBy(marks, ({ mark }) => mark);
    for (const node of free) {
      const could = marksOf(node)[key].flatMap((mark) => byMark.get(mark) ?? []);
      const [host, another] = new Set(could.map((one) => one.host).filter(mayBe(node)));
      if (host === undefined || another !== undefined) continue;
      free.delete(node);
      if (!found.has(host)) found.set(host, node);
    }
  };
  take(hosts, 'ids');
  const staying = hosts.filter(({ machine }) => machine.metadata.deletionTimestamp === undefined);
  take(staying, 'names');
  take(staying, 'addresses');
  return found;
}

const marksOf = (node: KubeObject) => ({
  ids: [idOf(node)],
  names: [node.metadata.name.toLowerCase()],
  addresses: addressesOf(node),
});

/** A node with the id of another machine does not belong to this host. */
const mayBe =
  (node: KubeObject) =>
  ({ ids }: GuestHost): boolean =>
    ids.length === 0 || idOf(node) === '' || ids.includes(idOf(node));

/** The nodes of Machines, by the names of the Machines. */
export const nodesOfMachines = (
  view: HostObjects,
  nodes: readonly KubeObject[],
): ReadonlyMap<string, KubeObject> =>
  new Map(
    [...nodesOf(hostsOf(view), nodes)].map(([host, node]) => [host.machine.metadata.name, node]),
  );

/**
 * Stages in which the host itself sends no reports; a status without a stage is one too, as a move
 * drops the status.
 */
const silent: ReadonlySet<string> = new Set([
  ...['', 'Rebooting', 'Waiting for ignition', 'Configuring', 'Joined'],
]);

/** Reports of rebooted hosts from their nodes. */
export function nodeReports(
  view: HostObjects,
  nodes: readonly KubeObject[],
): readonly NodeReport[] {
  const hosts = hostsOf(view);
  const found = nodesOf(hosts, nodes);
  return hosts.flatMap((host): readonly NodeReport[] => {
    const { config, machine } = host;
    const { initialization, progress } = config.status ?? {};
    const before = progress?.stage ?? '';
    if (!silent.has(before) || initialization?.dataSecretCreated !== true) return [];
    const node = found.get(host);
    if (node === undefined) return [];
    const stage = readinessOf(node).isReady ? 'Done' : 'Joined';
    return stage === before ? [] : [{ config, machine, stage }];
  });
}

/** The hosts of a cluster in the form of the rules for certificate requests. */
function knownCluster(
  view: HostObjects,
  { nodes, installConfig }: Pick<GuestView, 'nodes' | 'installConfig'>,
): KnownCluster {
  const all = hostsOf(view).map(({ config, names, addresses }) => {
    const stage = config.status?.progress?.stage ?? '';
    const known: InventoryHost = {
      id: config.metadata.uid ?? '',
      infraEnvId: '',
      role: '',
      name: names[0] ?? '',
      stage,
      status: serviceStatusOf(stage),
      addresses,
    };
    return { known, names };
  });
  const reading = readInstallConfig(installConfig);
  const byEachName = all.flatMap(({ known, names }) => names.map((name) => ({ ...known, name })));
  return {
    hosts: {
      named: hostIndexOf(byEachName).named,
      allAt: hostIndexOf(all.map(({ known }) => known)).allAt,
    },
    nodes,
    machines: 'problem' in reading ? undefined : reading.installConfig.machines,
  };
}

/**
 * The certificate requests to approve, by the rules of an installation's controller: the cluster
 * does not approve requests of hosts that join later.
 */
export function approvals(
  view: HostObjects,
  { nodes, requests, installConfig }: Pick<GuestView, 'nodes' | 'requests' | 'installConfig'>,
): readonly ReadRequest[] {
  const open = requests
    .map(readRequest)
    .filter(({ state, claim }) => state === 'pending' && claim !== undefined);
  if (open.length === 0) return [];
  const cluster = knownCluster(view, { nodes, installConfig });
  return open.filter(({ claim }) => {
    const node = nodes.find(({ metadata }) => metadata.name === claim?.node);
    return claim !== undefined && pendingCause(claim, node, cluster) === undefined;
  });
}
