import * as z from 'zod';
import { fact } from '../../engine/fact.ts';
import { minutes } from '../../model/duration.ts';
import { step } from '../step.ts';

/** Makes systemd read the units that bootstrap.ign brought. */
const reloadArgv = ['systemctl', 'daemon-reload'] as const;

/** Makes systemd know the units of the bootstrap. */
export const reloadUnits = step({
  id: 'bootstrap/reload-units',
  title: 'Make systemd read its units anew',
  uses: ['host'],
  limit: minutes(3),
  preview: () => [reloadArgv],
  run: async ({ host, signal }) => {
    await host.exec(reloadArgv, { signal, limit: minutes(2) });
  },
});

/** The services that bring the temporary control plane up have been started. */
export const ControlPlane = fact(
  'control-plane.started',
  z.strictObject({ units: z.array(z.string()) }),
);

/** The services of the bootstrap, in the order in which they are started. */
const bootstrapUnits = ['bootkube.service', 'approve-csr.service', 'progress.service'] as const;

/** Starts a unit, and waits until systemd says that it runs. */
const startUnitArgv = (unit: string): readonly string[] => ['systemctl', 'start', unit];

/** bootkube.service is started after the release image is there, which may be a slow download. */
const longestStart = minutes(60);

/**
 * Starts the temporary control plane. Starting what runs changes nothing, and bootkube.service does
 * not start a second time when it is through (`ConditionPathExists=!/opt/openshift/.bootkube.done`,
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
