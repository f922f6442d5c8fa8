import { textAt } from '../kube/object.ts';
import type { Proxies } from '../lib/proxies.ts';
import type { KubeObject, KubeRef } from '../ports/kube.ts';

/** How the cluster reaches what is outside of it. */
export const clusterProxyRef: KubeRef = {
  kind: { group: 'config.openshift.io', version: 'v1', plural: 'proxies' },
  name: 'cluster',
};

/**
 * The proxies that the cluster uses, each in the place of one of the environment where it is set:
 * the status of the object has them with all exceptions (assisted-installer-controller,
 * `SetProxyEnvVars`).
 */
export const clusterProxies = (proxy: KubeObject | undefined, environment: Proxies): Proxies => ({
  http: textAt(proxy, 'status', 'httpProxy') || environment.http,
  https: textAt(proxy, 'status', 'httpsProxy') || environment.https,
  no: textAt(proxy, 'status', 'noProxy') || environment.no,
});
