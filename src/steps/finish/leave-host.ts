import { minutes, seconds } from '../../model/duration.ts';
import { step } from '../step.ts';
import { delayOf } from './decide-delay.ts';
import { IronicAgent, RebootDelay } from './facts.ts';

/**
 * systemd writes it when a shutdown is scheduled for later (`shutdown(8)`). One that begins at once
 * leaves no such file; to ask for it again does no harm.
 */
const scheduledShutdown = '/run/systemd/shutdown/scheduled';

/** The quotes are part of the message: the agent that this one replaces has them, and logs are searched for it. */
const message = "'Installation completed, server is going to reboot.'";

/** Reboots the host, at once or after some minutes. */
export const rebootArgv = ({ when }: RebootDelay): readonly string[] => [
  ...['shutdown', '-r', when, message],
];

/** Stops the agent that ironic waits for; ironic then reboots the host. */
export const stopAgentArgv = ['systemctl', 'stop', 'agent.service'] as const;

/** Tells whether the agent runs; it prints `inactive` and fails when it does not. */
export const agentStateArgv = ['systemctl', 'is-active', 'agent.service'] as const;

/** `systemctl is-active` of a unit that does not run, or that systemd does not know. */
const notActive = [3, 4];

/** Leaves the host: by a reboot, or by handing it over to ironic. */
export const leaveHost = step({
  id: 'finish/leave-host',
  title: 'Reboot into the installed system',
  stage: 'Rebooting',
  stageInfo: (_config, { ironic }) =>
    ironic.isPresent ? 'Ironic will reboot the node shortly' : '',
  uses: ['host'],
  needs: { ironic: IronicAgent, delay: RebootDelay },
  leaves: true,
  rerun: 'probe',
  probe: async ({ host, signal }, { ironic }) => {
    if (!ironic.isPresent) {
      const scheduled = await host.readText(scheduledShutdown, signal);
      return scheduled === undefined ? { isDone: false } : { isDone: true, fact: undefined };
    }
    const { exitCode } = await host.exec(agentStateArgv, {
      signal,
      limit: seconds(30),
      accept: [0, ...notActive],
    });
    return exitCode === 0 ? { isDone: false } : { isDone: true, fact: undefined };
  },
  limit: minutes(5),
  explain: () => 'by ironic where its agent runs, else by itself',
  preview: ({ finish: { rebootDelayMinutes } }, { delay }) => [
    rebootArgv(rebootDelayMinutes === undefined ? delay : delayOf(rebootDelayMinutes)),
    stopAgentArgv,
  ],
  run: async ({ host, signal }, { ironic, delay }) => {
    const argv = ironic.isPresent ? stopAgentArgv : rebootArgv(delay);
    await host.exec(argv, { signal, limit: minutes(2) });
  },
});
