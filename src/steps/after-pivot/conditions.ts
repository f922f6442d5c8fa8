import type { Config } from '../../config/schema.ts';
import { condition } from '../../engine/condition.ts';
import { isSameImage } from '../../lib/image-name.ts';

/** Whether the controller is this program too: the service names the image in which this runs. */
export const isOwnController = ({ images }: Config): boolean =>
  isSameImage(images.controller, images.self);

/** Whether the controller of the cluster does what this host leaves; else a job does. */
export const isLeftToController = (config: Config): boolean =>
  !config.service.url.isEmpty && isOwnController(config);

/** Who does in the cluster what this host leaves, for people. */
export const whoFollows = (config: Config): string =>
  isLeftToController(config) ? 'the controller' : 'the follow-up job';

/** Whether something is to follow this host, as far as the settings say. */
export const wantsFollowUp = ({ bootstrap: { followUp }, images }: Config): boolean =>
  followUp === 'always' || (followUp === 'auto' && images.self !== '');

/** Whether something follows this host into its cluster. A dry host goes nowhere. */
export const leavesFollowUp = condition<Config>(
  'a follow-up is wanted, and the image of this program is known',
  (config) => config.host.reach !== 'dry' && wantsFollowUp(config),
);
