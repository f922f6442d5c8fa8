import { all } from '../../engine/condition.ts';
import { asAgentError } from '../../engine/failures.ts';
import type { EncapsulatedMachineConfig } from '../../ignition/encapsulated.ts';
import { readMachineConfig } from '../../layering/api/machine-config.ts';
import { stagingFiles } from '../../layering/registry/staging-registry.ts';
import { hours } from '../../model/duration.ts';
import { writesDisk, buildsOsImages } from '../conditions.ts';
import { TargetDisk } from '../disk/facts.ts';
import { withHeartbeat } from '../heartbeat.ts';
import {
  canDeploy,
  canPivotAtFirstBoot,
  deployFinal,
  previewDeploy,
} from '../image/deploy-final.ts';
import { WrittenImage } from '../image/facts.ts';
import type { PullSource } from '../image/overwrite-argv.ts';
import { step, type StepScope } from '../step.ts';
import { mastersImage, mastersPool, whyNotServed } from './conditions.ts';
import {
  BuildRequest,
  type PublishedImage,
  PublishedImages,
  type RenderedConfig,
  RenderedConfigs,
  StagingRegistry,
} from './facts.ts';
import { readManifest } from './manifests.ts';

/**
 * Puts the image of the masters on this host's own disk, from the registry beside it: when the host leaves,
 * nothing has to be pulled. The disk follows the image under its lasting name and no other, which is read back.
 */
export const deployOwn = step({
  id: 'layering/deploy-own',
  title: 'Deploy the built OS image to the disk of this host',
  uses: ['host', 'clock'],
  needs: {
    disk: TargetDisk,
    written: WrittenImage,
    request: BuildRequest,
    rendered: RenderedConfigs,
    registry: StagingRegistry,
    published: PublishedImages,
  },
  when: all(writesDisk, buildsOsImages),
  skipIf: ({ request, registry, published }) =>
    whyNotServed(request, published) ?? (registry.kind === 'release' ? registry.why : undefined),
  destroys: true,
  touches: ['disk:install'],
  limit: hours(6),
  preview: ({ image: { writerArgs } }, { disk }) => {
    const { authFile, certificates } = stagingFiles;
    const source = { image: '<staged image>', authFile, certificates };
    const image = '<final image>';
    return previewDeploy({ disk: disk.path, writerArgs, image, source, isRootShared: true });
  },
  run: async (scope, { disk, rendered, registry, published }) => {
    const { note, signal } = scope;
    const image = mastersImage(published);
    if (image === undefined || registry.kind === 'release') return;
    try {
      if (!(await canDeploy(scope))) return;
      const os = await osOf(scope, image, rendered);
      await withHeartbeat('deploying the built OS image', scope, () =>
        // The registry, and what was built, lie on the root file system of the same disk.
        deployFinal(scope, disk, { os, source: sourceOf(image, registry), isRootShared: true }),
      );
    } catch (error) {
      signal.throwIfAborted();
      const failure = asAgentError(error);
      if (!canPivotAtFirstBoot(failure)) throw error;
      const { code, message } = failure;
      note(
        'warn',
        'the built OS image is not deployed; this node will pull it and reboot once more',
        {
          code,
          reason: message,
        },
      );
    }
  },
});

const sourceOf = (
  { staged }: PublishedImage,
  { authFile, certificates }: { readonly authFile: string; readonly certificates: string },
): PullSource => ({ image: staged, authFile, certificates });

/** The image under its lasting name, with the kernel arguments of the MachineConfig that it was built for. */
async function osOf(
  scope: StepScope<'host'>,
  { final }: PublishedImage,
  rendered: readonly RenderedConfig[],
): Promise<EncapsulatedMachineConfig> {
  const file = rendered.find(({ pool }) => pool === mastersPool)?.file;
  if (file === undefined) return { osImageURL: final, kernelArguments: [] };
  const source = await readManifest(scope, { path: file, kind: 'MachineConfig' });
  return { osImageURL: final, kernelArguments: readMachineConfig(source).kernelArguments };
}
