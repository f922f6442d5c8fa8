import { z } from 'zod';

/** How long a node takes from its reboot to each of the stages after it, in seconds of the lab. */
export const Pace = z.strictObject({
  /** From the reboot until the installed system asks for its Ignition. */
  bootSeconds: z.number().min(0).default(1.5),
  configureSeconds: z.number().min(0).default(1.5),
  joinSeconds: z.number().min(0).default(1),
});
export type Pace = z.infer<typeof Pace>;

/** A stage that is reported for a node, and the pause before it. */
export interface LifeStage {
  readonly stage: string;
  readonly afterSeconds: number;
}

/** What happens to a node after its reboot, as the controller reports it (controller of 2026). */
export const lifeAfterReboot = (role: string, pace: Pace): readonly LifeStage[] => [
  {
    stage: role === 'worker' ? 'Waiting for ignition' : 'Configuring',
    afterSeconds: pace.bootSeconds,
  },
  ...(role === 'worker' ? [{ stage: 'Configuring', afterSeconds: pace.configureSeconds / 2 }] : []),
  { stage: 'Joined', afterSeconds: pace.configureSeconds },
  { stage: 'Done', afterSeconds: pace.joinSeconds },
];
