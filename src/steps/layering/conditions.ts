import type { Config } from '../../config/schema.ts';
import { all, condition } from '../../engine/condition.ts';
import { deliveryOf } from '../../layering/manifests/delivery.ts';
import { writesDisk } from '../conditions.ts';

/**
 * Whether the manifests may ask for operating systems. Of a release that knows no MachineOSConfig nothing is looked
 * for, unless it is asked for.
 */
export const looksForOsConfigs = condition<Config>(
  'operating systems may be built during the installation',
  ({ layering: { mode }, cluster }) =>
    mode === 'on' || (mode === 'auto' && deliveryOf(cluster.openshiftVersion).kind !== 'none'),
  ({ layering: { mode }, cluster }) =>
    mode === 'off' ? 'layering.mode is off' : deliveryOf(cluster.openshiftVersion).why,
);

/** Whether they are built if the manifests ask for it: a disk is needed that has room for it. */
export const buildsOsImages = all(writesDisk, looksForOsConfigs);
