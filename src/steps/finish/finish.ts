import { noteFailed } from '../../engine/failures.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { unreadableOutput } from '../host-commands.ts';
import { step } from '../step.ts';
import type { Config } from '../../config/schema.ts';
import { EtcdHandover } from '../cluster/wait-for-etcd.ts';
import * as z from 'zod';
import { fact } from '../../engine/fact.ts';

const IronicAgentSchema = z.object({
  /** Ironic manages the host and reboots it. */
  isPresent: z.boolean(),
});

/** Whether the agent of ironic runs on this host. */
export const IronicAgent = fact('finish.ironic', IronicAgentSchema);
export type IronicAgent = z.infer<typeof IronicAgentSchema>;

const RebootDelaySchema = z.object({
  /** The time argument of `shutdown`: `now`, or `+1` for one minute. */
  when: z.string().regex(/^(now|\+\d+)$/),
});

/** The delay before the reboot of the host. */
export const RebootDelay = fact('finish.reboot-delay', RebootDelaySchema);
export type RebootDelay = z.infer<typeof RebootDelaySchema>;

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
  limit: seconds(90),
  preview: () => [listIronicArgv],
  run: async (scope) => {
    const { host, signal } = scope;
    try {
      const { stdout } = await host.exec(listIronicArgv, { signal, limit: seconds(60) });
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
 * Minutes that the bootstrap host waits if the etcd hand-over was not observed: assisted-installer
 * always waits that long (assisted-installer #618, OCPBUGS-5988).
 */
const unseenHandover = 1;

/** A delay of whole minutes; 0 for none. */
const delayOf = (minutes: number): RebootDelay => ({
  when: minutes === 0 ? 'now' : `+${minutes}`,
});

const asConfigured = ({ finish }: Config): string =>
  `${finish.rebootDelayMinutes ?? 0} min: finish.rebootDelayMinutes is set`;

/**
 * Decides when a host reboots that no other host depends on: at once, because its logs are
 * uploaded, and its last report is sent before the reboot.
 */
export const decideRebootDelay = step({
  id: 'finish/decide-delay',
  title: 'Decide how long to delay the reboot',
  uses: [],
  gives: RebootDelay,
  limit: seconds(10),
  explain: (config) =>
    config.finish.rebootDelayMinutes === undefined
      ? 'no delay: the logs and the last report have been sent by then'
      : asConfigured(config),
  run: ({ config }) => Promise.resolve(delayOf(config.finish.rebootDelayMinutes ?? 0)),
});

/**
 * Decides when the bootstrap host reboots: at once if the etcd hand-over was observed, otherwise
 * after the minute in which it usually completes.
 */
export const decideRebootDelayAfterHandover = step({
  id: 'finish/decide-delay-after-handover',
  title: 'Decide how long to delay the reboot',
  uses: [],
  needs: { handover: EtcdHandover },
  gives: RebootDelay,
  limit: seconds(10),
  explain: (config) =>
    config.finish.rebootDelayMinutes === undefined
      ? `no delay when etcd was seen to leave this host, else ${unseenHandover} min`
      : asConfigured(config),
  run: ({ config }, { handover }) => {
    const needed = handover.isSeen ? 0 : unseenHandover;
    return Promise.resolve(delayOf(config.finish.rebootDelayMinutes ?? needed));
  },
});

/**
 * The quotes are part of the message: assisted-installer has them, and tools search logs for it.
 */
const message = "'Installation completed, server is going to reboot.'";

/** Reboots the host, at once or after some minutes. */
export const rebootArgv = ({ when }: RebootDelay): readonly string[] => [
  ...['shutdown', '-r', when, message],
];

/** Stops the agent that ironic watches; ironic then reboots the host. */
export const stopAgentArgv = ['systemctl', 'stop', 'agent.service'] as const;

/** The info text of `Rebooting`: it names the component that reboots the host. */
export const rebootInfo = (
  _config: Config,
  { ironic }: { readonly ironic: IronicAgent },
): string => (ironic.isPresent ? 'Ironic will reboot the node shortly' : '');

/** Ends the work on this host: reboots it or hands it over to ironic. */
export const rebootHost = step({
  id: 'finish/leave-host',
  title: 'Reboot into the installed system',
  stage: 'Rebooting',
  stageInfo: rebootInfo,
  uses: ['host'],
  needs: { ironic: IronicAgent, delay: RebootDelay },
  effect: 'leaves',
  limit: minutes(5),
  explain: () => 'by ironic where its agent runs, else by this program',
  preview: ({ finish: { rebootDelayMinutes } }, { delay }) => [
    rebootArgv(rebootDelayMinutes === undefined ? delay : delayOf(rebootDelayMinutes)),
    stopAgentArgv,
  ],
  run: async ({ host, signal }, { ironic, delay }) => {
    // A resumed run orders the reboot again: systemd then replaces the scheduled shutdown.
    const argv = ironic.isPresent ? stopAgentArgv : rebootArgv(delay);
    await host.exec(argv, { signal, limit: minutes(2) });
  },
});
