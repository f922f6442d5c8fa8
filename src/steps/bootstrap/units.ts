import { minutes } from '../../model/duration.ts';
import { step } from '../step.ts';
import { isMultiNode } from './conditions.ts';

/** Makes systemd read the units that bootstrap.ign brought. */
export const reloadArgv = ['systemctl', 'daemon-reload'] as const;

/** Makes systemd know the units of the bootstrap. */
export const reloadUnits = step({
  id: 'bootstrap/reload-units',
  title: 'Make systemd read its units anew',
  uses: ['host'],
  limit: minutes(3),
  preview: () => [reloadArgv],
  run: async ({ host, signal }) => {
    await host.exec(reloadArgv, { signal, limit: minutes(2) });
  },
});

/** Runs the dispatcher scripts of NetworkManager. */
export const restartNetworkArgv = ['systemctl', 'restart', 'NetworkManager.service'] as const;

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
