import type { Config } from '../../config/schema.ts';
import { condition } from '../../engine/condition.ts';

/** Whether something is to follow this host, as far as the settings say. */
export const wantsFollowUp = ({ bootstrap: { followUp }, images }: Config): boolean =>
  followUp === 'always' || (followUp === 'auto' && images.self !== '');

/** Whether something follows this host into its cluster. A dry host goes nowhere. */
export const leavesFollowUp = condition<Config>(
  'the follow-up job is wanted, and the image of this program is known',
  (config) => config.host.reach !== 'dry' && wantsFollowUp(config),
);
