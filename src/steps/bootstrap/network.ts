import { minutes } from '../../model/duration.ts';
import { step } from '../step.ts';
import { isMultiNode } from '../conditions.ts';

/** The host name as the kernel has it. The container shares it with the host. */
const kernelHostname = '/proc/sys/kernel/hostname';

/** Gives the host a name. */
const setHostnameArgv = (name: string): readonly string[] => ['hostnamectl', 'set-hostname', name];

/**
 * Whether NetworkManager leaves a host name alone: the rule of the agent that is replaced, 2 to 63
 * lower-case letters, digits, hyphens and dots, and not `localhost`.
 */
export const isHostname = (name: string): boolean =>
  name !== 'localhost' && /^[a-z0-9][a-z0-9\-.]{0,61}[a-z0-9]$/.test(name);

/**
 * Gives the live system a name where it has none. Without one NetworkManager sets it from DNS, and
 * writes resolv.conf anew without the name server of this host.
 */
export const setHostname = step({
  id: 'bootstrap/set-hostname',
  title: 'Give the host a name if it has none',
  uses: ['host', 'random'],
  limit: minutes(2),
  preview: () => [setHostnameArgv('random-hostname-<uuid>')],
  run: async ({ host, random, signal, note }) => {
    const name = ((await host.readText(kernelHostname, signal)) ?? '').trim();
    if (isHostname(name)) return;
    const chosen = `random-hostname-${random.uuid()}`;
    note('info', `the host name ${name === '' ? 'is missing' : `${name} is not usable`}`, {
      chosen,
    });
    await host.exec(setHostnameArgv(chosen), { signal, limit: minutes(1) });
  },
});

/** Runs the dispatcher scripts of NetworkManager. */
const restartNetworkArgv = ['systemctl', 'restart', 'NetworkManager.service'] as const;

/**
 * Restarts NetworkManager. A dispatcher script of bootstrap.ign, `30-local-dns-prepender`, then puts
 * the name server of this host first, which is the one that knows `api-int`.
 */
export const restartNetwork = step({
  id: 'bootstrap/restart-network',
  title: 'Make the network ask the name server of this host',
  uses: ['host'],
  when: isMultiNode,
  touches: ['network'],
  limit: minutes(4),
  preview: () => [restartNetworkArgv],
  run: async ({ host, signal }) => {
    await host.exec(restartNetworkArgv, { signal, limit: minutes(3) });
  },
});
