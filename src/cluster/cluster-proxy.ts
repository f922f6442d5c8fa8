import { textAt } from '../kube/object.ts';
import type { Proxies } from '../lib/proxies.ts';
import type { KubeObject, KubeRef } from '../ports/kube.ts';

/** The cluster-wide Proxy object (config.openshift.io/v1). */
export const clusterProxyRef: KubeRef = {
  kind: { group: 'config.openshift.io', version: 'v1', plural: 'proxies' },
  name: 'cluster',
};

/**
 * The proxies of the cluster; a proxy that is set replaces the one of the environment. They come
 * from the status of the object, which has all exceptions of noProxy
 * (assisted-installer-controller, `SetProxyEnvVars`).
 */
export const clusterProxies = (proxy: KubeObject | undefined, environment: Proxies): Proxies => ({
  http: textAt(proxy, 'status', 'httpProxy') || environment.http,
  https: textAt(proxy, 'status', 'httpsProxy') || environment.https,
  no: textAt(proxy, 'status', 'noProxy') || environment.no,
});
