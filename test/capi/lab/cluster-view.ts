import { clusterSeed, type HostRecord } from '../../../mocks/inventory/records.ts';
import { type InventoryStore, inventoryStore } from '../../../mocks/inventory/store.ts';
import {
  type BootstrapConfig,
  bootstrapConfigs,
  capiMachines,
  controlPlanes,
} from '../../../src/capi/api.ts';
import { conditionOf, textAt } from '../../../src/kube/object.ts';
import type { KubeKind, KubeObject } from '../../../src/ports/kube.ts';
import type { Management } from '../management.ts';

/** The hosts of a Cluster's objects, in the form of a service's state that the lab shows. */
export interface ClusterView {
  readonly store: InventoryStore;
  /** Shows a host from now on. */
  readonly add: (host: HostRecord) => void;
  /** Machines whose infrastructure has a host, each once; ends with the signal. */
  readonly machines: () => AsyncGenerator<KubeObject>;
}

/** Follows the objects in a namespace until the signal aborts. */
export function clusterView(
  { client }: Pick<Management, 'client'>,
  namespace: string,
  signal: AbortSignal,
): ClusterView {
  const seed = clusterSeed({ name: namespace });
  const hosts = new Map<string, HostRecord>();
  const configs = new Map<string, BootstrapConfig>();
  let status = seed.status;
  async function* changes(kind: KubeKind): AsyncGenerator<KubeObject> {
    try {
      for await (const { type, object } of client.watch({ kind, namespace }, { signal }))
        if (type === 'ADDED' || type === 'MODIFIED') yield object;
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
  const follow = async (kind: KubeKind, take: (object: KubeObject) => void): Promise<void> => {
    for await (const object of changes(kind)) take(object);
  };
  void follow(bootstrapConfigs, (config) => {
    configs.set(config.metadata.uid ?? '', config as BootstrapConfig);
  });
  void follow(controlPlanes, (object) => {
    const isTrue = (type: string): boolean => conditionOf(object, type).status === 'True';
    if (isTrue('BootstrapComplete')) status = isTrue('Installed') ? 'installed' : 'finalizing';
  });
  const shown = (host: HostRecord): HostRecord => ({
    ...host,
    ...progressIn(configs.get(host.id)),
  });
  return {
    add: (host) => void hosts.set(host.id, host),
    store: {
      ...inventoryStore({ cluster: seed, hosts: [] }),
      cluster: () => ({ ...seed, status }),
      hosts: () => [...hosts.values()].map(shown),
      host: (id) => {
        const host = hosts.get(id);
        return host && shown(host);
      },
    },
    machines: async function* () {
      const seen = new Set<string>();
      for await (const machine of changes(capiMachines)) {
        const { name } = machine.metadata;
        if (seen.has(name) || textAt(machine, 'spec', 'providerID') === '') continue;
        seen.add(name);
        yield machine;
      }
    },
  };
}

/** A failed host shows the stage of its failure. */
function progressIn(config: BootstrapConfig | undefined): Partial<HostRecord> {
  const { stage = '', message = '' } = config?.status?.progress ?? {};
  if (stage === 'Failed') return { status: 'error', statusInfo: `Failed - ${message}` };
  const status = stage === 'Done' ? 'installed' : 'installing-in-progress';
  return { stage, stageInfo: message, status };
}
