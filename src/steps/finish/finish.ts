import { noteFailed } from '../../engine/failures.ts';
import { minutes } from '../../model/duration.ts';
import { unreadableOutput } from '../host-commands.ts';
import { type HostScope, step } from '../step.ts';
import type { Config } from '../../config/schema.ts';
import { EtcdHandover } from '../cluster/wait-for-etcd.ts';
import * as z from 'zod';
import { fact, ifGiven } from '../../engine/fact.ts';

const IronicAgentSchema = z.object({
  /** Ironic manages the host and reboots it. */
  isPresent: z.boolean(),
});

/** Whether the agent of ironic runs on this host. */
export const IronicAgent = fact('finish.ironic', IronicAgentSchema);
export type IronicAgent = z.infer<typeof IronicAgentSchema>;

const unit = 'ironic-agent.service';

/** Lists the agent of ironic if systemd knows it. */
export const listIronicArgv = ['systemctl', 'list-units', '--no-legend', unit] as const;

/**
 * Detects whether ironic reboots the host. If systemd does not answer, the host reboots itself: a
 * completed installation must not fail here.
 */
export const findIronic = step({
  id: 'finish/find-ironic',
  title: 'Check whether ironic reboots the host',
  uses: ['host'],
  gives: IronicAgent,
  limit: minutes(5),
  preview: () => [listIronicArgv],
  run: async (scope) => {
    const { host, signal } = scope;
    try {
      const { stdout } = await host.exec(listIronicArgv, { signal, limit: minutes(2) });
      const isPresent = stdout.includes(unit);
      if (!isPresent && stdout !== '')
        throw unreadableOutput('systemctl', `line of ${unit}`, stdout);
      return { isPresent };
    } catch (error) {
      const text = 'cannot list the systemd units of the host; the host reboots itself';
      noteFailed(scope, text, error);
      return { isPresent: false };
    }
  },
});

/**
 * The quotes are part of the message: assisted-installer has them, and tools search logs for it.
 */
const message = "'Installation completed, server is going to reboot.'";

/** Reboots the host, at once or after some minutes. */
export const rebootArgv = (delayMinutes: number): readonly string[] => [
  ...['shutdown', '-r', delayMinutes === 0 ? 'now' : `+${delayMinutes}`, message],
];

/** Prints the state of the host; systemd answers until the end of a shutdown. */
export const systemStateArgv = ['systemctl', 'is-system-running'] as const;

/** Stops the agent that ironic watches; ironic then reboots the host. */
export const stopAgentArgv = ['systemctl', 'stop', 'agent.service'] as const;

/** The info text of `Rebooting`: it names the component that reboots the host. */
export const rebootInfo = (
  _config: Config,
  { ironic }: { readonly ironic: IronicAgent },
): string => (ironic.isPresent ? 'Ironic will reboot the node shortly' : '');

/**
 * Minutes that the bootstrap host waits if the etcd hand-over was not observed: assisted-installer
 * always waits that long (assisted-installer #618, OCPBUGS-5988).
 */
const unseenHandover = 1;

/**
 * Whether the host shuts down. The exit code says it too, but not only for a shutdown (systemctl,
 * `is-system-running`).
 */
async function isStopping({ host, signal }: HostScope): Promise<boolean> {
  const options = { signal, limit: minutes(2), accept: [0, 1] };
  const answer = await host.exec(systemStateArgv, options).catch(() => undefined);
  return answer?.stdout === 'stopping';
}

/**
 * Ends the work on this host: reboots it or hands it over to ironic. On a slow host the shutdown
 * ends the command that ordered it: systemd signals all processes of the container.
 */
export const reboot = step({
  id: 'finish/leave-host',
  title: 'Reboot into the installed system',
  stage: 'Rebooting',
  stageInfo: rebootInfo,
  uses: ['host'],
  needs: { ironic: IronicAgent, handover: ifGiven(EtcdHandover) },
  effect: 'leaves',
  limit: minutes(5),
  explain: ({ finish: { rebootDelayMinutes: given } }) =>
    `by ironic where its agent runs, else by this program, ${
      given === undefined
        ? `at once; a bootstrap host that did not see the removal of its etcd member waits ${unseenHandover} min`
        : `after ${given} min: finish.rebootDelayMinutes is set`
    }`,
  preview: ({ finish }) => [rebootArgv(finish.rebootDelayMinutes ?? 0), stopAgentArgv],
  run: async (scope, { ironic, handover }) => {
    const { host, config, signal } = scope;
    // The logs and the last report have been sent by now: only etcd needs the host for longer.
    const needed = handover?.isSeen === false ? unseenHandover : 0;
    // A resumed run orders the reboot again: systemd then replaces the scheduled shutdown.
    const argv = ironic.isPresent
      ? stopAgentArgv
      : rebootArgv(config.finish.rebootDelayMinutes ?? needed);
    try {
      await host.exec(argv, { signal, limit: minutes(2) });
    } catch (error) {
      if (!(await isStopping(scope))) throw error;
    }
  },
});
