import { noteFailed } from '../../engine/failures.ts';
import { minutes, seconds } from '../../model/duration.ts';
import { unreadableOutput } from '../host-commands.ts';
import { step } from '../step.ts';
import type { Config } from '../../config/schema.ts';
import { EtcdHandover } from '../cluster/wait-for-etcd.ts';
import * as z from 'zod';
import { fact } from '../../engine/fact.ts';

const IronicAgentSchema = z.object({
  /** The host is managed by ironic, which reboots it. */
  isPresent: z.boolean(),
});

/** Whether the agent of ironic runs on this host. */
export const IronicAgent = fact('finish.ironic', IronicAgentSchema);
export type IronicAgent = z.infer<typeof IronicAgentSchema>;

const RebootDelaySchema = z.object({
  /** As `shutdown` takes it: `now`, or `+1` for after a minute. */
  when: z.string().regex(/^(now|\+\d+)$/),
});

/** How long the host waits before it reboots. */
export const RebootDelay = fact('finish.reboot-delay', RebootDelaySchema);
export type RebootDelay = z.infer<typeof RebootDelaySchema>;

const unit = 'ironic-agent.service';

/** Lists the agent of ironic when systemd knows it. */
export const listIronicArgv = ['systemctl', 'list-units', '--no-legend', unit] as const;

/**
 * Finds out who reboots the host. When systemd does not answer, the host reboots by itself: an
 * finished install must not fail here.
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
 * Minutes that the bootstrap host waits when nobody saw etcd leave it: what the Go agent always
 * waits (assisted-installer #618, OCPBUGS-5988).
 */
const unseenHandover = 1;

/** A delay of whole minutes; 0 for none. */
export const delayOf = (minutes: number): RebootDelay => ({
  when: minutes === 0 ? 'now' : `+${minutes}`,
});

const asConfigured = ({ finish }: Config): string =>
  `${finish.rebootDelayMinutes ?? 0} min: finish.rebootDelayMinutes is set`;

/**
 * Decides when a host reboots on which nothing depends any more: at once, as the logs have left it
 * and the last report does before the host goes.
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
 * Decides when the bootstrap host reboots: at once when etcd was seen to need it no more, else
 * after the minute in which that usually happens.
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
 * The quotes are part of the message: the agent that this one replaces has them, and logs are
 * searched for it.
 */
const message = "'Installation completed, server is going to reboot.'";

/** Reboots the host, at once or after some minutes. */
export const rebootArgv = ({ when }: RebootDelay): readonly string[] => [
  ...['shutdown', '-r', when, message],
];

/** Stops the agent that ironic waits for; ironic then reboots the host. */
export const stopAgentArgv = ['systemctl', 'stop', 'agent.service'] as const;

/** The text beside `Rebooting`: who reboots the host. */
export const rebootInfo = (
  _config: Config,
  { ironic }: { readonly ironic: IronicAgent },
): string => (ironic.isPresent ? 'Ironic will reboot the node shortly' : '');

/** Leaves the host: by a reboot, or by handing it over to ironic. */
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
    // A resumed run asks again: systemd then replaces the shutdown that is scheduled.
    const argv = ironic.isPresent ? stopAgentArgv : rebootArgv(delay);
    await host.exec(argv, { signal, limit: minutes(2) });
  },
});
