import { minutes, seconds } from '../../model/duration.ts';
import { controllerConfig, heldControllerConfig } from '../../layering/manifests/delivery.ts';
import { step } from '../step.ts';
import { buildsOsImages } from './conditions.ts';
import { OsImageOrder } from './facts.ts';
import { holdPathUnit } from './hold-config-server.ts';
import { unlessHeld } from './skips.ts';

/** Ends the hold; systemd forgets the unit with it. */
export const endHoldArgv = ['systemctl', 'stop', holdPathUnit] as const;

/** Puts the file back that the server cannot do without. */
export const putBackArgv = ['mv', '--force', heldControllerConfig, controllerConfig] as const;

/** systemctl's answer for a unit that does not exist. */
const noSuchUnit = 5;

/** Lets the machine-config-server of this host serve, with the built image or without. */
export const releaseConfigServer = step({
  id: 'layering/release-config-server',
  title: 'Let the masters have their Ignition',
  uses: ['host'],
  needs: { order: OsImageOrder },
  when: buildsOsImages,
  skipIf: unlessHeld,
  limit: minutes(3),
  preview: () => [endHoldArgv, putBackArgv],
  run: async ({ host, signal }) => {
    await host.exec(endHoldArgv, { signal, limit: seconds(60), accept: [0, noSuchUnit] });
    // Not there: it was never held, or an earlier run has put it back.
    if ((await host.realPath(heldControllerConfig, signal)) === undefined) return;
    await host.exec(putBackArgv, { signal, limit: seconds(30) });
  },
});
