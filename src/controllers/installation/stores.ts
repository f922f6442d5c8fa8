import { hostIndexOf, hostOf, ownNode } from '../../cluster/host-index.ts';
import { nodes as nodeKind } from '../../kube/kinds.ts';
import type { InstallationView, InstallingHost } from '../../ports/inventory.ts';
import type { KubeObject } from '../../ports/kube.ts';
import { type Gap, type Informer, informer } from '../../kube/informer.ts';
import type { Controller } from '../../kube/manager.ts';
import type { ControllerPorts } from './scope.ts';

/** The cluster at the service, with the interface of an informer. */
export interface InstallationStore extends Pick<Informer, 'gap' | 'onGap' | 'run'> {
  readonly view: () => InstallationView;
  readonly hosts: () => readonly InstallingHost[];
  /** Called with the hosts that were added, changed or removed. */
  readonly onChange: (handler: (hosts: readonly InstallingHost[]) => void) => void;
}

const none: readonly InstallingHost[] = [];

/**
 * Follows the cluster at the service. It has a gap until the view is `enough`: by default, until
 * the first answer.
 */
export function installationStore(
  { inventory, clock }: Pick<ControllerPorts, 'inventory' | 'clock'>,
  enough = ({ cluster }: InstallationView): boolean => cluster !== undefined,
): InstallationStore {
  const changed: ((hosts: readonly InstallingHost[]) => void)[] = [];
  const gapChanged: (() => void)[] = [];
  const since = clock.elapsed();
  let view: InstallationView = {};
  const gap = (): Gap | undefined =>
    enough(view) ? undefined : { reason: 'the service has not answered yet', since };
  return {
    view: () => view,
    hosts: () => view.cluster?.hosts ?? none,
    gap,
    onGap: (handler) => void gapChanged.push(handler),
    onChange: (handler) => void changed.push(handler),
    run: (signal) =>
      inventory.follow((seen) => {
        const before = [view.cluster?.hosts ?? none, gap()] as const;
        view = seen;
        const hosts = changedHosts(before[0], seen.cluster?.hosts ?? none);
        if (hosts.length > 0) for (const handler of changed) handler(hosts);
        if (before[1]?.reason !== gap()?.reason) for (const handler of gapChanged) handler();
      }, signal),
  };
}

/** A host whose record has not changed stays the same object. */
function changedHosts(
  before: readonly InstallingHost[],
  after: readonly InstallingHost[],
): readonly InstallingHost[] {
  const [known, ids] = [new Set(before), new Set(after.map(({ id }) => id))];
  const gone = before.filter(({ id }) => !ids.has(id));
  return [...after.filter((host) => !known.has(host)), ...gone];
}

/** The stores that most controllers of an installation read: its hosts, and their nodes. */
export interface InstallationStores {
  readonly service: InstallationStore;
  readonly nodes: Informer<'host'>;
  /** The node of a host, by the host's id. */
  readonly nodeOf: (id: string) => KubeObject | undefined;
  /** A host by its id, and its node. */
  readonly seenOf: (id: string) => {
    readonly host: InstallingHost | undefined;
    readonly node: KubeObject | undefined;
  };
}

/** Creates the stores that controllers share. */
export function installationStores(
  scope: Pick<ControllerPorts, 'kube' | 'inventory' | 'clock'>,
): InstallationStores {
  const service = installationStore(scope);
  const nodes = informer(
    scope,
    { kind: nodeKind },
    {
      host: (node) => {
        const host = hostOf(node, hostIndexOf(service.hosts()));
        return host === undefined ? [] : [host.id];
      },
    },
  );
  service.onChange(() => nodes.reindex('host'));
  const nodeOf = (id: string): KubeObject | undefined =>
    ownNode(nodes.by('host', id), hostIndexOf(service.hosts()));
  return {
    service,
    nodes,
    nodeOf,
    seenOf: (id) => ({
      host: service.hosts().find((host) => host.id === id),
      node: nodeOf(id),
    }),
  };
}

/** Keys for controllers of hosts: the id of each host whose record or node has changed. */
export const byHost = ({
  service,
  nodes,
}: InstallationStores): Pick<Controller, 'reads' | 'keys' | 'watch'> => ({
  reads: [service, nodes],
  keys: () => service.hosts().map(({ id }) => id),
  watch: (add) => {
    nodes.onChange(({ before, after }) => {
      for (const node of [before, after]) {
        const host = node && hostOf(node, hostIndexOf(service.hosts()));
        if (host !== undefined) add(host.id);
      }
    });
    service.onChange((hosts) => {
      for (const { id } of hosts) add(id);
    });
  },
});

/** Keys for controllers of nodes: the name of each node that was added or has changed. */
export const byNode = ({
  nodes,
}: Pick<InstallationStores, 'nodes'>): Pick<Controller, 'reads' | 'keys' | 'watch'> => ({
  reads: [nodes],
  keys: () => nodes.all().map(({ metadata: { name } }) => name),
  watch: (add) => {
    nodes.onChange(({ after }) => {
      if (after !== undefined) add(after.metadata.name);
    });
  },
});

/**
 * The name of a host's node, by the host's id; the name of the host while the node does not exist.
 */
export function nodeNameOf({ seenOf }: Pick<InstallationStores, 'seenOf'>, id: string): string {
  const { host, node } = seenOf(id);
  return node?.metadata.name ?? (host ? nameOf(host) : id);
}

/** A host's name for people. */
export const nameOf = ({ name, id }: InstallingHost): string => (name === '' ? id : name);
