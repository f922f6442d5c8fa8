import { minutes } from '../../model/duration.ts';
import { controllerConfig, heldControllerConfig } from '../../layering/manifests/delivery.ts';
import { longestWait } from '../cluster/kube-watch.ts';
import { unitMonitorArgv } from '../cluster/systemd-unit.ts';
import { step } from '../step.ts';
import { buildsOsImages } from './conditions.ts';
import { OsImageOrder, RenderedConfigs } from './facts.ts';
import { holdServiceUnit } from './hold-config-server.ts';
import { readRenderedConfigs, untilRendered } from './rendering.ts';
import { joinsWithStock } from './skips.ts';

/** Waits until the temporary control plane has rendered what the images are built from. */
export const waitForRendered = step({
  id: 'layering/wait-for-rendered',
  title: 'Wait until the MachineConfigs of the pools are rendered',
  uses: ['host'],
  needs: { order: OsImageOrder },
  gives: RenderedConfigs,
  when: buildsOsImages,
  limit: longestWait + minutes(10),
  waitsFor: `${controllerConfig}, which the bootstrap controller writes last`,
  preview: () => [unitMonitorArgv([holdServiceUnit])],
  run: async (scope, { order }) => {
    if (order.kind === 'off') return [];
    const isHeld = !joinsWithStock(order);
    await untilRendered(scope, isHeld ? heldControllerConfig : controllerConfig);
    return readRenderedConfigs(
      scope,
      order.pools.map(({ pool }) => pool),
    );
  },
});
