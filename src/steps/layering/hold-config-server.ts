import { minutes, seconds } from '../../model/duration.ts';
import { controllerConfig, heldControllerConfig } from '../../layering/delivery/bootstrap-files.ts';
import { unitState, unitStateArgv } from '../cluster/unit-watch.ts';
import { step } from '../step.ts';
import { buildsOsImages } from './conditions.ts';
import { OsImageOrder } from './facts.ts';
import { unlessAtFirstBoot } from './skips.ts';

const unit = 'bootwright-hold';

/** The unit of systemd that waits for the file. */
export const holdPathUnit = `${unit}.path`;

/** The unit that moves it away, once for each time that it comes. */
export const holdServiceUnit = `${unit}.service`;

/**
 * Lets systemd move the file away at the moment when it is there (`systemd.path(5)`, PathExists). No watch of our
 * own would do: /etc of the host is not shared with a container, and between two looks a master could be served.
 */
export const holdArgv = [
  'systemd-run',
  `--unit=${unit}`,
  '--collect',
  `--path-property=PathExists=${controllerConfig}`,
  'mv',
  '--force',
  controllerConfig,
  heldControllerConfig,
] as const;

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
  skipIf: unlessAtFirstBoot,
  limit: minutes(3),
  preview: () => [unitStateArgv(holdPathUnit), holdArgv],
  run: async ({ host, signal }) => {
    if ((await unitState(host, holdPathUnit, signal)) === 'active') return;
    await host.exec(holdArgv, { signal, limit: seconds(60) });
  },
});
