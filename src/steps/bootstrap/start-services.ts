import * as z from 'zod';
import { fact } from '../../engine/fact.ts';
import { minutes } from '../../model/duration.ts';
import { step } from '../step.ts';

const reloadArgv = ['systemctl', 'daemon-reload'] as const;

/** Reloads the systemd units, because bootstrap.ign added some. */
export const reloadUnits = step({
  id: 'bootstrap/reload-units',
  title: 'Reload the systemd units',
  uses: ['host'],
  limit: minutes(5),
  preview: () => [reloadArgv],
  run: async ({ host, signal }) => {
    await host.exec(reloadArgv, { signal, limit: minutes(2) });
  },
});

/** The services of the temporary control plane were started. */
export const ControlPlane = fact(
  'control-plane.started',
  z.strictObject({ units: z.array(z.string()) }),
);

/** The services of the bootstrap, in start order. */
const bootstrapUnits = ['bootkube.service', 'approve-csr.service', 'progress.service'] as const;

/** Starts a unit and waits until it is active. */
const startUnitArgv = (unit: string): readonly string[] => ['systemctl', 'start', unit];

/** bootkube.service starts after the pull of the release image, which may take long. */
const longestStart = minutes(60);

/**
 * Starts the temporary control plane. Starting an active unit changes nothing, and bootkube.service
 * does not start again once it has finished (`ConditionPathExists=!/opt/openshift/.bootkube.done`,
 * openshift/installer).
 */
export const startServices = step({
  id: 'bootstrap/start-services',
  title: 'Start the temporary control plane',
  uses: ['host'],
  gives: ControlPlane,
  limit: longestStart + minutes(5),
  preview: () => bootstrapUnits.map(startUnitArgv),
  run: async ({ host, signal }) => {
    for (const unit of bootstrapUnits) {
      await host.exec(startUnitArgv(unit), { signal, limit: longestStart });
    }
    return { units: [...bootstrapUnits] };
  },
});
