import type { Config } from '../../config/schema.ts';
import { all, condition, not } from '../../engine/condition.ts';
import type { NeedValues } from '../../engine/fact.ts';
import { asAgentError } from '../../engine/failures.ts';
import { hours } from '../../model/duration.ts';
import { takesBuiltImage, writesDisk } from '../conditions.ts';
import { TargetDisk } from '../disk/facts.ts';
import { HostIgnition } from '../ignition/fetch-host.ts';
import { step, type StepScope } from '../step.ts';
import { canDeploy, deployFinal, previewDeploy } from './deploy-final.ts';
import { authFile } from './existing-root.ts';
import { WrittenImage } from './facts.ts';
import { findFinalOs } from './final-os.ts';
import { withHeartbeat } from '../heartbeat.ts';

const skipsReboot = condition<Config>(
  'the final operating system is written before the first boot',
  ({ image }) => image.skipMcoReboot,
);

type OverwriteScope = StepScope<'host' | 'web' | 'clock'>;
type Needed = NeedValues<Omit<typeof overwriteNeeds, 'written'>>;

/** What the step below is made of; a host that may build its own system adds when there is nothing to do. */
export const finalOverwrite = {
  id: 'image/overwrite-os',
  title: 'Write the final operating system before the first boot',
  uses: ['host', 'web', 'clock'],
  when: all(writesDisk, skipsReboot),
  destroys: true,
  touches: ['disk:install'],
  limit: hours(6),
  waitsFor: 'the rendered config of the pool, from the machine-config-server, at most 20 minutes',
  preview: ({ image: { writerArgs } }: Config, { disk }: Pick<Needed, 'disk'>) =>
    previewDeploy({ disk: disk.path, writerArgs }),
  run: async (scope: OverwriteScope, { disk, ignition }: Needed): Promise<void> => {
    const { signal, note } = scope;
    try {
      await withHeartbeat('writing the final operating system', scope, async () => {
        if (!(await canDeploy(scope))) return;
        const os = await findFinalOs(scope, ignition.path);
        await deployFinal(scope, disk, { os, source: { image: os.osImageURL, authFile } });
      });
    } catch (error) {
      signal.throwIfAborted();
      const { code, message } = asAgentError(error);
      note('warn', 'the final operating system is not written; the node will reboot once more', {
        code,
        reason: message,
      });
    }
  },
} as const;

/** What has to be there before. */
export const overwriteNeeds = {
  disk: TargetDisk,
  ignition: HostIgnition,
  written: WrittenImage,
} as const;

/**
 * Writes the operating system that the cluster wants over the one of the image, which saves the
 * reboot in which the machine-config-daemon would do so. Without it the node gets there all the
 * same, so whatever fails here is told and not fatal.
 */
export const overwriteOs = step({
  ...finalOverwrite,
  when: all(
    finalOverwrite.when,
    not(takesBuiltImage, 'no step of its own looks for a built image'),
  ),
  needs: overwriteNeeds,
});
