import type { KubeObject } from '../ports/kube.ts';

const prefix = 'machineconfiguration.openshift.io';

/** Label of the nodes whose configurations are looked at. */
export const masterLabel = 'node-role.kubernetes.io/master';

interface NodeConfigs {
  readonly node: string;
  /** Name of the MachineConfig the node has; empty when it says none. */
  readonly current: string;
  /** Name of the MachineConfig the node shall have; empty when it says none. */
  readonly desired: string;
}

const configsOf = ({ metadata: { name, annotations } }: KubeObject): NodeConfigs => ({
  node: name,
  current: annotations?.[`${prefix}/currentConfig`] ?? '',
  desired: annotations?.[`${prefix}/desiredConfig`] ?? '',
});

/** Names of the MachineConfigs that nodes speak of, each once. */
export function namedConfigs(nodes: readonly KubeObject[]): readonly string[] {
  const names = nodes.map(configsOf).flatMap(({ current, desired }) => [current, desired]);
  return [...new Set(names)].filter((name) => name !== '').sort();
}

/** Whether the configurations of the masters agree, and what is missing. */
export interface Agreement {
  readonly isAgreed: boolean;
  readonly status: string;
}

const missing = (status: string): Agreement => ({ isAgreed: false, status });

/**
 * Whether every master has and wants a MachineConfig that exists, and all want the same one. A node
 * that starts with the name of a configuration which only the temporary control plane rendered stays
 * degraded for ever.
 * @param present names of MachineConfigs that exist
 */
export function configsAgree(
  nodes: readonly KubeObject[],
  present: ReadonlySet<string>,
): Agreement {
  if (nodes.length === 0) return missing('there is no master node yet');
  const all = nodes.map(configsOf);
  for (const { node, current, desired } of all) {
    if (current === '') return missing(`${node} names no current MachineConfig`);
    if (desired === '') return missing(`${node} names no desired MachineConfig`);
  }
  const absent = namedConfigs(nodes).filter((name) => !present.has(name));
  if (absent.length > 0) return missing(`not in the cluster: ${absent.join(', ')}`);
  const wanted = new Set(all.map(({ desired }) => desired));
  if (wanted.size === 1) {
    return { isAgreed: true, status: `${nodes.length} masters agree on ${[...wanted].join('')}` };
  }
  const said = all.map(({ node, desired }) => `${node} wants ${desired}`);
  return missing(`the masters differ: ${said.join(', ')}`);
}
