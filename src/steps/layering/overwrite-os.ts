import type { Config } from '../../config/schema.ts';
import { all, condition } from '../../engine/condition.ts';
import { ifGiven } from '../../engine/fact.ts';
import { asAgentError } from '../../engine/failures.ts';
import { hours } from '../../model/duration.ts';
import { writesDisk } from '../conditions.ts';
import { TargetDisk } from '../disk/facts.ts';
import { withHeartbeat } from '../heartbeat.ts';
import { HostIgnition } from '../ignition/fetch-host.ts';
import { mastersImage, whyNotServed } from './conditions.ts';
import { BuildRequest, PublishedImages, WorkerBoot } from './facts.ts';
import { step } from '../step.ts';
import { canDeploy, deployFinal, previewDeploy } from '../image/deploy-final.ts';
import { WrittenImage } from '../image/facts.ts';
import { findFinalOs } from '../image/final-os.ts';
import { authFile } from '../image/overwrite-argv.ts';

const skipsReboot = condition<Config>(
  'the final OS image is written before the first boot',
  ({ image }) => image.skipMcoReboot,
);

/**
 * Writes the operating system that the cluster wants over the one of the image, which saves the
 * reboot in which the machine-config-daemon would do so. Without it the node gets there all the
 * same, so whatever fails here is a warning. Where a built image is for this host, that
 * is written instead.
 */
export const overwriteOs = step({
  id: 'image/overwrite-os',
  title: 'Write the final OS image before the first boot',
  uses: ['host', 'web', 'clock'],
  needs: {
    disk: TargetDisk,
    ignition: HostIgnition,
    written: WrittenImage,
    request: ifGiven(BuildRequest),
    published: ifGiven(PublishedImages),
    boot: ifGiven(WorkerBoot),
  },
  when: all(writesDisk, skipsReboot),
  skipIf: (facts) =>
    bootsBuiltImage(facts) ? 'the built OS image is deployed instead' : undefined,
  destroys: true,
  touches: ['disk:install'],
  limit: hours(6),
  waitsFor: 'the rendered config of the pool, from the machine-config-server, at most 20 minutes',
  preview: ({ image: { writerArgs } }, { disk }) => previewDeploy({ disk: disk.path, writerArgs }),
  run: async (scope, { disk, ignition }) => {
    const { signal, note } = scope;
    try {
      await withHeartbeat('writing the final OS image', scope, async () => {
        if (!(await canDeploy(scope))) return;
        const os = await findFinalOs(scope, ignition.path);
        await deployFinal(scope, disk, { os, source: { image: os.osImageURL, authFile } });
      });
    } catch (error) {
      signal.throwIfAborted();
      const { code, message } = asAgentError(error);
      if (code === 'disk.changed') throw error;
      note('warn', 'the final OS image is not written; the node will reboot once more', {
        code,
        reason: message,
      });
    }
  },
});

/** What is known of built images on a host: a bootstrap host has an order, a worker looks for the image of its pool. */
export interface BuiltImageFacts {
  readonly request: BuildRequest | undefined;
  readonly published: PublishedImages | undefined;
  readonly boot: WorkerBoot | undefined;
}

/** Which operating system a host boots first: an image that was built, or that of the release. */
export const bootsBuiltImage = ({ request, published, boot }: BuiltImageFacts): boolean =>
  (request !== undefined &&
    published !== undefined &&
    whyNotServed(request, published) === undefined &&
    mastersImage(published) !== undefined) ||
  (boot !== undefined && boot.kind !== 'release');
