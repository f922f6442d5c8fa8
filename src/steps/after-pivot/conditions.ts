import type { Config } from '../../config/schema.ts';
import { condition } from '../../engine/condition.ts';

/** Whether something follows this host into its cluster. A dry host goes nowhere. */
export const leavesFollowUp = condition<Config>(
  'something is to follow the bootstrap host, and the image of this program is known',
  ({ bootstrap: { followUp }, images, host }) =>
    host.reach !== 'dry' && (followUp === 'always' || (followUp === 'auto' && images.self !== '')),
);
