import type { KubeObject, KubeRef } from '../ports/kube.ts';
import { configMaps } from './kinds.ts';

/** Where the installer writes down who started it. */
export const invokerRef: KubeRef = {
  kind: configMaps,
  namespace: 'openshift-config',
  name: 'openshift-install-manifests',
};

/** The invoker of a cluster that was begun by the agent-based installer. */
export const agentBased = 'agent-installer';

/** The invoker of a cluster that does not say. */
export const defaultInvoker = 'assisted-service';

/** Who started the installation: empty when the ConfigMap does not say, a default without one. */
export function invokerOf(configMap: KubeObject | undefined): string {
  if (configMap === undefined) return defaultInvoker;
  const { data } = configMap as { readonly data?: Readonly<Record<string, string>> | null };
  return data?.['invoker'] ?? '';
}
