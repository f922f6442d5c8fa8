import { condition } from '../../engine/condition.ts';
import { minutes } from '../../model/duration.ts';
import { restartArgv } from '../../os/driver.ts';
import { NextBoot } from './facts.ts';
import { type NodeOrder, step } from './step.ts';

/** Whoever asked wants the host to restart. */
const wantsRestart = condition<NodeOrder>('a reboot is asked for', ({ reboots }) => reboots);

/** Restarts the host, if that makes a difference. */
export const restart = step({
  id: 'os/restart',
  title: 'Restart the host into what is booted next',
  uses: ['host'],
  needs: { next: NextBoot },
  when: wantsRestart,
  limit: minutes(5),
  leaves: true,
  skipIf: ({ next }) => (next.isAnother ? undefined : 'the host boots next what it runs'),
  preview: () => [restartArgv],
  run: async ({ host, signal }) => {
    await host.exec(restartArgv, { signal, limit: minutes(2) });
  },
});
