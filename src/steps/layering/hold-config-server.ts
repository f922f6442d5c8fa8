import { minutes } from '../../model/duration.ts';
import { controllerConfig, heldControllerConfig } from '../../layering/manifests/delivery.ts';
import { unitStateArgv } from '../cluster/systemd-unit.ts';
import { step } from '../step.ts';
import { buildsOsImages } from './conditions.ts';
import { OsImageOrder } from './facts.ts';
import { pathUnit, startWatch, watchArgv } from './path-unit.ts';
import { unlessHeld } from './skips.ts';

const unit = pathUnit('bootwright-hold');

/** The unit of systemd that waits for the file. */
export const holdPathUnit = unit.path;

/** The unit that moves it away, once for each time that it comes. */
export const holdServiceUnit = unit.service;

/**
 * Lets systemd move the file away at the moment when it is there (`systemd.path(5)`, PathExists). No watch of our
 * own would do: /etc of the host is not shared with a container, and between two looks a master could be served.
 */
export const holdArgv = watchArgv(unit, `PathExists=${controllerConfig}`, [
  ...['mv', '--force', controllerConfig, heldControllerConfig],
]);

/**
 * Has the machine-config-server of this host answer 500, which Ignition asks again after, from its first request
 * until the images are there: a master that is served before would boot the operating system of the release.
 */
export const holdConfigServer = step({
  id: 'layering/hold-config-server',
  title: 'Hold the masters back until their image is built',
  uses: ['host'],
  needs: { order: OsImageOrder },
  when: buildsOsImages,
  skipIf: unlessHeld,
  limit: minutes(3),
  preview: () => [unitStateArgv(holdPathUnit), holdArgv],
  run: (scope) => startWatch(scope, unit, holdArgv),
});
