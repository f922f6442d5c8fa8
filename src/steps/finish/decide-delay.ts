import type { Config } from '../../config/schema.ts';
import { seconds } from '../../model/duration.ts';
import { EtcdHandover } from '../cluster/wait-for-etcd.ts';
import { step } from '../step.ts';
import { RebootDelay } from './facts.ts';

/**
 * Minutes that the bootstrap host waits when nobody saw etcd leave it: what the Go agent always waits
 * (assisted-installer #618, OCPBUGS-5988).
 */
const unseenHandover = 1;

/** A delay of whole minutes; 0 for none. */
export const delayOf = (minutes: number): RebootDelay => ({
  when: minutes === 0 ? 'now' : `+${minutes}`,
});

const asConfigured = ({ finish }: Config): string =>
  `${finish.rebootDelayMinutes ?? 0} min: finish.rebootDelayMinutes says so`;

/**
 * Decides when a host reboots on which nothing depends any more: at once, as the logs have left it
 * and the last report does before the host goes.
 */
export const decideDelay = step({
  id: 'finish/decide-delay',
  title: 'Decide how long the reboot waits',
  uses: [],
  gives: RebootDelay,
  limit: seconds(10),
  explain: (config) =>
    config.finish.rebootDelayMinutes === undefined
      ? 'not at all: the logs and the last report have left the host by then'
      : asConfigured(config),
  run: ({ config }) => Promise.resolve(delayOf(config.finish.rebootDelayMinutes ?? 0)),
});

/**
 * Decides when the bootstrap host reboots: at once when etcd was seen to need it no more, else after
 * the minute in which that usually happens.
 */
export const decideDelayAfterHandover = step({
  id: 'finish/decide-delay-after-handover',
  title: 'Decide how long the reboot waits',
  uses: [],
  needs: { handover: EtcdHandover },
  gives: RebootDelay,
  limit: seconds(10),
  explain: (config) =>
    config.finish.rebootDelayMinutes === undefined
      ? `not at all when etcd was seen to leave this host, else ${unseenHandover} min`
      : asConfigured(config),
  run: ({ config }, { handover }) => {
    const needed = handover.isSeen ? 0 : unseenHandover;
    return Promise.resolve(delayOf(config.finish.rebootDelayMinutes ?? needed));
  },
});
