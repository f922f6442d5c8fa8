import { HOST_ROOT, requireHost } from '../adapters/host-root.ts';
import {
  joinHostNetwork,
  nsenterHost,
  type NsenterHostOptions,
} from '../adapters/host/nsenter-host.ts';
import type { Environment } from '../config/environment.ts';
import { proxiesIn } from '../config/load.ts';
import { proxyEnv } from '../lib/proxies.ts';
import type { Host } from '../ports/host.ts';

/**
 * The host of the pod or container in which a command without install settings runs. If the host
 * has another network, starts the program again in that network, so call it before any effect.
 * @throws AgentError `host.not-seen`
 */
export async function runningHost(
  environment: Environment,
  onCommand?: NsenterHostOptions['onCommand'],
): Promise<Host> {
  const root = environment['BOOTWRIGHT_HOST_ROOT'] ?? HOST_ROOT;
  await requireHost(root);
  await joinHostNetwork(root, environment);
  return nsenterHost({
    root,
    environment,
    onCommand,
    variables: proxyEnv(proxiesIn(environment)),
  });
}
