import * as z from 'zod';
import { fact } from '../../engine/fact.ts';

/** The Ignition of the bootstrap host, as the service has it for the cluster. */
export const BootstrapIgnition = fact('ignition.bootstrap', z.strictObject({ path: z.string() }));

/** The services that bring the temporary control plane up have been started. */
export const ControlPlane = fact(
  'control-plane.started',
  z.strictObject({ units: z.array(z.string()) }),
);
