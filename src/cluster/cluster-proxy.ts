import * as z from 'zod';
import type { Proxies } from '../lib/proxies.ts';
import type { KubeObject, KubeRef } from '../ports/kube.ts';

/** How the cluster reaches what is outside of it. */
export const clusterProxyRef: KubeRef = {
  kind: { group: 'config.openshift.io', version: 'v1', plural: 'proxies' },
  name: 'cluster',
};

const text = z.string().catch('');

const Wire = z.object({
  status: z.object({ httpProxy: text, httpsProxy: text, noProxy: text }),
});

/**
 * The proxies that the cluster uses, each in the place of one of the environment where it is set:
 * the status of the object has them with all exceptions (assisted-installer-controller,
 * `SetProxyEnvVars`).
 */
export function clusterProxies(proxy: KubeObject | undefined, environment: Proxies): Proxies {
  const { data } = Wire.safeParse(proxy);
  const { httpProxy = '', httpsProxy = '', noProxy = '' } = data?.status ?? {};
  return {
    http: httpProxy || environment.http,
    https: httpsProxy || environment.https,
    no: noProxy || environment.no,
  };
}
