import { minutes } from '../../model/duration.ts';
import { callsOf, step } from '../step.ts';
import { isMultiNode } from '../conditions.ts';
import { readHostname } from '../host-commands.ts';

const setHostnameArgv = (name: string): readonly string[] => ['hostnamectl', 'set-hostname', name];

/**
 * Whether NetworkManager keeps a hostname, by the rule of assisted-installer: 2 to 63 lower-case
 * letters, digits, hyphens and dots, and not `localhost`.
 */
export const isHostname = (name: string): boolean =>
  name !== 'localhost' && /^[a-z0-9][a-z0-9\-.]{0,61}[a-z0-9]$/.test(name);

/**
 * Sets a hostname on a live system without one. Otherwise NetworkManager sets a hostname from DNS
 * and rewrites resolv.conf without the DNS server on this host.
 */
export const setHostname = step({
  id: 'bootstrap/set-hostname',
  title: 'Set a random hostname if none is set',
  uses: ['host', 'random'],
  limit: minutes(5),
  preview: () => callsOf('hostnamectl'),
  run: async (scope) => {
    const { host, random, signal, note } = scope;
    const name = await readHostname(scope);
    if (isHostname(name)) return;
    const chosen = `random-hostname-${random.uuid()}`;
    const problem = name === '' ? 'is not set' : `${name} is not valid`;
    note('info', `the hostname ${problem}; setting a random one`, { chosen });
    await host.exec(setHostnameArgv(chosen), { signal, limit: minutes(2) });
  },
});

/** Runs the dispatcher scripts of NetworkManager. */
const restartNetworkArgv = ['systemctl', 'restart', 'NetworkManager.service'] as const;

/**
 * Restarts NetworkManager. Then `30-local-dns-prepender`, a dispatcher script of bootstrap.ign,
 * puts the DNS server on this host first in resolv.conf; it resolves `api-int`.
 */
export const restartNetwork = step({
  id: 'bootstrap/restart-network',
  title: 'Configure NetworkManager to use the local DNS server',
  uses: ['host'],
  when: isMultiNode,
  limit: minutes(5),
  preview: () => [restartNetworkArgv],
  run: async ({ host, signal }) => {
    await host.exec(restartNetworkArgv, { signal, limit: minutes(3) });
  },
});
