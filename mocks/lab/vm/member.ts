// One virtual machine of a cluster, from its live system to its node.
import { setTimeout as sleep } from 'node:timers/promises';
import { bootInstalled } from '../../../test/guest/install/first-boot.ts';
import { proofLine } from '../../../test/guest/install/ignition.ts';
import type { ClusterLife } from '../../cluster/run-cluster.ts';
import type { HostOutcome } from '../report.ts';
import { installLive, type Playing } from '../vm-host.ts';
import { doubtsAbout, startsIn } from './first-report.ts';

/** A virtual machine that becomes a node of a cluster. */
export interface PlayedMember extends Playing {
  readonly life: Pick<ClusterLife, 'happen'>;
}

/** An emulated guest on a machine that does other work as well. */
const diskSeconds = 2400;
const LOOK_EVERY_MILLIS = 100;

/**
 * Plays a machine to its end.
 * @throws GuestError when the machine ends early or takes too long
 */
export async function playMember(playing: PlayedMember): Promise<HostOutcome> {
  const { seat, life } = playing;
  if (!(await installLive(playing))) return 'failed';
  const host = seat.plan.name;
  seat.phase = 'starts from its own disk';
  seat.boots += 1;
  life.happen({ kind: 'rebooted', host });
  const doubts = await firstStart(playing);
  if (doubts.length > 0) {
    seat.failure = { code: 'lab.first-boot', message: doubts.join('; ') };
    return 'failed';
  }
  life.happen({ kind: 'configured-due', host });
  await untilSettled(playing);
  return playing.outside.inventory.store.host(seat.hostId)?.stage === 'Done' ? 'done' : 'stopped';
}

/** Starts the installed disk; what is not as it should be then. The machine is switched off after it has told. */
async function firstStart(playing: PlayedMember): Promise<readonly string[]> {
  const { install, outside, seat, folder, prefix = '', signal } = playing;
  const { firmware, variables, target } = install;
  const machine = { firmware, target, ...(variables === undefined ? {} : { variables }) };
  const { report } = await bootInstalled(machine, outside, {
    folder,
    name: `${prefix}disk`,
    deadlineSeconds: diskSeconds,
    signal,
  });
  seat.boots = startsIn(report) ?? seat.boots;
  return doubtsAbout(report, { hostname: seat.plan.name, proof: proofLine });
}

/** Waits until the controller has said the last word about a host, or the service gave it up. */
async function untilSettled({ outside, seat, signal }: PlayedMember): Promise<void> {
  const { store } = outside.inventory;
  const isOpen = (): boolean => {
    const host = store.host(seat.hostId);
    return host !== undefined && host.stage !== 'Done' && host.status !== 'error';
  };
  while (isOpen()) await sleep(LOOK_EVERY_MILLIS, undefined, { signal });
}
