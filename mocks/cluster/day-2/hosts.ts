// The hosts of a cluster the day after its installation: they reboot on command, and may lose their
// power meanwhile.
import { setTimeout as sleep } from 'node:timers/promises';
import { restartFromDisk } from '../../host/installed-system.ts';
import { type LayeredSite, machineOf } from '../../layering/plan.ts';
import { type ClusterWork, reportNode } from '../site.ts';

const POLL_INTERVAL_MILLIS = 50;

/**
 * Follows every host until the cluster is closed; `losesPower` decides whether a host loses its
 * power during shutdown.
 */
export function runHosts(
  work: ClusterWork,
  layered: LayeredSite,
  losesPower: (host: string) => boolean,
) {
  const { signal } = work;
  const down = new Map<string, number>();
  const off = new Set<string>();
  const restart = async (host: string): Promise<void> => {
    const { running } = machineOf(layered, host);
    off.add(host);
    down.set(host, (down.get(host) ?? 0) + 1);
    layered.power(host, false);
    work.tenants.evict(host);
    await reportNode(work, host, false);
    layered.restarted(host);
    // The staged image is only written during shutdown.
    if (running !== undefined && losesPower(host)) running.staged = undefined;
    await sleep(work.plan.pace.bootSeconds * 1000, undefined, { signal });
    await start(host);
  };
  const start = async (host: string): Promise<void> => {
    const machine = machineOf(layered, host);
    work.bootIds.renew(host, restartFromDisk(machine));
    const before = layered.systems.get(host);
    const { booted: image = '', kernelArguments = [] } = machine.running ?? {};
    if (before !== undefined) layered.systems.set(host, { ...before, image, kernelArguments });
    layered.power(host, true);
    off.delete(host);
    await reportNode(work, host, true);
  };
  const follow = async (host: string): Promise<void> => {
    while (!signal.aborted) {
      if (machineOf(layered, host).reboot !== undefined) await restart(host);
      await sleep(POLL_INTERVAL_MILLIS, undefined, { signal });
    }
  };
  const ended = Promise.all(
    work.members.map(({ name }) =>
      follow(name).catch((error: unknown) => {
        if (!signal.aborted) work.complain(`host ${name}: ${String(error)}`);
      }),
    ),
  );
  return {
    isOn: (host: string): boolean => !off.has(host),
    /** How often a host has gone down so far. */
    restarts: (host: string): number => down.get(host) ?? 0,
    /** Resolves once the cluster is closed. */
    ended,
  };
}
