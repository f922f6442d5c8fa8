import type { Config } from '../../config/schema.ts';
import { all, condition } from '../../engine/condition.ts';
import { ifGiven } from '../../engine/fact.ts';
import { asAgentError, noteFailed } from '../../engine/failures.ts';
import { type EncapsulatedMachineConfig, readEncapsulated } from '../../ignition/encapsulated.ts';
import { parseValidConfig } from '../../ignition/parse.ts';
import { readMachineConfig } from '../../layering/api/machine-config.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { embedServed, overlayImage } from '../../layering/manifests/served-config.ts';
import { hours, minutes } from '../../model/duration.ts';
import { takesBuiltImage, writesDisk, buildsOsImages } from '../conditions.ts';
import { TargetDisk } from '../disk/facts.ts';
import { removeStaleMounts } from '../disk/in-use.ts';
import { withHeartbeat } from '../heartbeat.ts';
import { HostIgnition } from '../ignition/fetch-host.ts';
import {
  authFile,
  canDeploy,
  canPivotAtFirstBoot,
  deployFinal,
  deployPrograms,
  findWrittenDisk,
  findFinalOs,
} from '../image/deploy-final.ts';
import { WrittenImage } from '../image/facts.ts';
import { diskMounts, tryCommand } from '../image/disk-mounts.ts';
import { callsOf, step, type StepScope } from '../step.ts';
import { mastersOf, whyNotServed, whyRelease, withReleaseFallback } from './conditions.ts';
import {
  type FoundImage,
  WorkerBoot,
  WorkerImage,
  type PublishedPool,
  PublishedPools,
  StagingRegistry,
} from './facts.ts';
import { readManifest } from './manifests.ts';
import { readTextOr } from '../host-commands.ts';

/**
 * Deploys the image to the disk before its first boot. If the registry fails, the node switches to
 * the image at its first boot by itself; if that could not succeed either, the cluster is promised
 * nothing.
 */
export const deployWorkerImage = step({
  id: 'layering/deploy-worker-image',
  title: 'Deploy the built OS image before the first boot',
  uses: ['host', 'clock'],
  needs: { disk: TargetDisk, image: WorkerImage },
  gives: WorkerBoot,
  when: all(writesDisk, takesBuiltImage),
  effect: 'destroys',
  limit: hours(6),
  preview: () => callsOf(...deployPrograms),
  run: async (scope, { disk, image }): Promise<WorkerBoot> => {
    if (image.kind === 'release') return image;
    const deploy = (): Promise<WorkerBoot> => deployOrPivot(scope, disk, image);
    // An image that the cluster serves cannot be withdrawn here.
    return image.kind === 'served' ? deploy() : withReleaseFallback(scope, deploy);
  },
});

async function deployOrPivot(
  scope: StepScope<'host' | 'clock'>,
  disk: TargetDisk,
  found: FoundImage,
): Promise<WorkerBoot> {
  const { note, signal } = scope;
  const { image, authFile, certificates } = found;
  const source = { image, authFile, ...(certificates === undefined ? {} : { certificates }) };
  // The OS image and kernel arguments that the machine will be served.
  const os = readEncapsulated(overlayImage(await readServed(scope, found.served), image));
  try {
    if (!(await canDeploy(scope))) return { kind: 'first-boot', why: 'the architecture is s390x' };
    await withHeartbeat('deploying the built OS image', scope, () =>
      deployFinal(scope, disk, { os, source }),
    );
    return { kind: 'deployed' };
  } catch (error) {
    signal.throwIfAborted();
    const failure = asAgentError(error);
    if (!canPivotAtFirstBoot(failure)) throw error;
    const { code, message } = failure;
    note('warn', 'the built OS image is not deployed; the node will pull it and reboot once more', {
      code,
      reason: message,
    });
    return { kind: 'first-boot', why: `${code}: ${message}` };
  }
}

/**
 * The config that the machine-config-server served when the image was found.
 * @throws AgentError `layering.served-lost`
 */
const readServed = (scope: StepScope<'host'>, path: string): Promise<string> =>
  readTextOr(scope, path, () =>
    layeringFailure('layering.served-lost', `${path} is missing`, { context: { path } }),
  );

const place = '/mnt';

/**
 * The Ignition config of this host at its path for the first boot (coreos-installer, `install.rs`).
 */
const onDisk = `${place}/ignition/config.ign`;

/** Next to the fetched Ignition config: that one stays as a resumed run knows it. */
const overlaidFile = (path: string): string => path.replace(/(\.ign)?$/, '-overlaid.ign');

/**
 * Overlays the image on the config of the machine-config-server for the first boot: the node joins
 * with the image as its running system. The step follows the write of the image, when the first
 * boot is certain to run it.
 */
export const overlayWorkerConfig = step({
  id: 'layering/overlay-worker-config',
  title: 'Add the built OS image to the Ignition config of this node',
  uses: ['host'],
  needs: { disk: TargetDisk, ignition: HostIgnition, image: WorkerImage, boot: WorkerBoot },
  when: all(writesDisk, takesBuiltImage),
  skipIf: ({ image, boot }) => {
    if (boot.kind === 'release') return boot.why;
    return image.kind === 'served' ? 'the cluster already serves the built OS image' : undefined;
  },
  effect: 'destroys',
  limit: minutes(15),
  preview: () => callsOf('cmp', 'fsfreeze', 'install', 'lsblk', 'mount', 'mv', 'sync', 'umount'),
  run: async (scope, { disk, ignition, image }) => {
    if (image.kind === 'release') return;
    const { host, signal } = scope;
    const overlaid = overlayImage(await readServed(scope, image.served), image.image);
    const whole = embedServed(await readServed(scope, ignition.path), overlaid);
    // A host that boots with an invalid config is lost until a person repairs it.
    parseValidConfig(whole);
    parseValidConfig(overlaid);
    const file = overlaidFile(ignition.path);
    await host.writeFile(file, whole, { signal, mode: 0o600 });
    const written = await findWrittenDisk(scope, disk);
    await removeStaleMounts(scope, written.disk, [`${place}/boot`, place]);
    const beside = `${onDisk}.new`;
    const mounts = diskMounts(scope);
    await mounts.mount(written.boot.path, place);
    await tryCommand(scope, ['install', '-D', '--mode=0600', file, beside]);
    await tryCommand(scope, ['sync', '--file-system', place]);
    await tryCommand(scope, ['mv', '--force', beside, onDisk], {
      // An earlier attempt has moved it; the present file is compared next.
      isDone: ({ context }) => String(context['stderr']).includes('cannot stat'),
    });
    await tryCommand(scope, ['cmp', file, onDisk]);
    await mounts.leave(place);
  },
});

/**
 * Deploys the image of the masters to this host's own disk, from its own registry: no pull is
 * needed after this host leaves. The disk follows the image only under its final name, which is
 * read back.
 */
export const deployOwn = step({
  id: 'layering/deploy-own',
  title: 'Deploy the built OS image to the disk of this host',
  uses: ['host', 'clock'],
  needs: {
    disk: TargetDisk,
    written: WrittenImage,
    registry: StagingRegistry,
    published: PublishedPools,
  },
  when: all(writesDisk, buildsOsImages),
  skipIf: ({ registry, published }) => whyNotServed(published) ?? whyRelease(registry),
  effect: 'destroys',
  limit: hours(6),
  preview: () => callsOf(...deployPrograms),
  run: async (scope, { disk, registry, published }) => {
    const masters = mastersOf(published);
    if (masters === undefined || registry.kind === 'release') return;
    try {
      if (!(await canDeploy(scope))) return;
      const os = await builtOs(scope, masters);
      const { authFile: own, certificates } = registry;
      const source = { image: masters.staged, authFile: own, certificates };
      await withHeartbeat('deploying the built OS image', scope, () =>
        // The registry and the built images are on the root file system of the same disk.
        deployFinal(scope, disk, { os, source, isRootShared: true }),
      );
    } catch (error) {
      if (!canPivotAtFirstBoot(asAgentError(error))) throw error;
      const what =
        'the built OS image is not deployed; this node will pull it and reboot once more';
      noteFailed(scope, what, error);
    }
  },
});

/**
 * The image under its final name, with the kernel arguments of the MachineConfig that it was built
 * for.
 */
async function builtOs(
  scope: StepScope<'host'>,
  { final, file }: PublishedPool,
): Promise<EncapsulatedMachineConfig> {
  const source = await readManifest(scope, file, 'MachineConfig');
  return { osImageURL: final, kernelArguments: readMachineConfig(source).kernelArguments };
}

const skipsReboot = condition<Config>(
  'the final OS image is written before the first boot',
  ({ image }) => image.skipMcoReboot,
);

/**
 * Deploys the operating system that the cluster wants over the one of the disk image, which saves
 * the reboot in which the machine-config-daemon would do so. The node would get there in any case,
 * so every failure here is a warning. If a built image is for this host, that one is deployed
 * instead.
 */
export const overwriteOs = step({
  id: 'layering/overwrite-os',
  title: 'Write the final OS image before the first boot',
  uses: ['host', 'web', 'clock'],
  needs: {
    disk: TargetDisk,
    ignition: HostIgnition,
    written: WrittenImage,
    published: ifGiven(PublishedPools),
    boot: ifGiven(WorkerBoot),
  },
  when: all(writesDisk, skipsReboot),
  skipIf: ({ published, boot }) =>
    bootsBuiltImage(published, boot) ? 'the built OS image is deployed instead' : undefined,
  effect: 'destroys',
  limit: hours(6),
  explain: () =>
    'waits for the rendered config of the pool, from the machine-config-server, at most 20 minutes',
  preview: () => callsOf(...deployPrograms),
  run: async (scope, { disk, ignition }) => {
    try {
      await withHeartbeat('writing the final OS image', scope, async () => {
        if (!(await canDeploy(scope))) return;
        const os = await findFinalOs(scope, ignition.path);
        await deployFinal(scope, disk, { os, source: { image: os.osImageURL, authFile } });
      });
    } catch (error) {
      if (asAgentError(error).code === 'disk.changed') throw error;
      noteFailed(scope, 'the final OS image is not written; the node will reboot once more', error);
    }
  },
});

/**
 * Whether a host boots a built image first, or the operating system of the release.
 * @param published the images that a bootstrap host has built
 * @param boot the image that a worker has found
 */
export const bootsBuiltImage = (
  published: PublishedPools | undefined,
  boot: WorkerBoot | undefined,
): boolean =>
  (published !== undefined && mastersOf(published) !== undefined) ||
  (boot !== undefined && boot.kind !== 'release');
