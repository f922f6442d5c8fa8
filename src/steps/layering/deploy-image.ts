import { all } from '../../engine/condition.ts';
import { asAgentError } from '../../engine/failures.ts';
import { type EncapsulatedMachineConfig, readEncapsulated } from '../../ignition/encapsulated.ts';
import { parseValidConfig } from '../../ignition/parse.ts';
import { layeringFailure } from '../../layering/failures.ts';
import { embedServed, overlayImage } from '../../layering/manifests/served-config.ts';
import { hours, minutes } from '../../model/duration.ts';
import { takesBuiltImage, writesDisk } from '../conditions.ts';
import { TargetDisk } from '../disk/facts.ts';
import { removeStaleMounts } from '../disk/in-use.ts';
import { lsblkArgv } from '../disk/lsblk.ts';
import { withHeartbeat } from '../heartbeat.ts';
import { HostIgnition } from '../ignition/fetch-host.ts';
import {
  canDeploy,
  canPivotAtFirstBoot,
  deployFinal,
  findWrittenDisk,
  previewDeploy,
} from '../image/deploy-final.ts';
import {
  leaveCommands,
  mountCommands,
  runUndoable,
  type UndoableCommand,
} from '../image/undoable.ts';
import { step, type StepScope } from '../step.ts';
import { withReleaseFallback } from './conditions.ts';
import { type FoundImage, WorkerBoot, WorkerImage } from './facts.ts';
import { workerFiles } from './find-worker-image.ts';

type DeployScope = StepScope<'host' | 'clock'>;

/**
 * Puts the image on the disk before its first boot. Where the registry fails, the node goes over to the image
 * at its first boot by itself; where that could not end well either, nothing is promised to the cluster.
 */
export const deployWorkerImage = step({
  id: 'layering/deploy-worker-image',
  title: 'Deploy the built OS image before the first boot',
  uses: ['host', 'clock'],
  needs: { disk: TargetDisk, image: WorkerImage },
  gives: WorkerBoot,
  when: all(writesDisk, takesBuiltImage),
  destroys: true,
  touches: ['disk:install'],
  limit: hours(6),
  preview: ({ image: { writerArgs }, layering }, { disk }) => {
    const repository = layering.repository === '' ? '<repository>' : layering.repository;
    const image = `${repository}@<digest>`;
    const source = { image, authFile: workerFiles.authFile };
    return previewDeploy({ disk: disk.path, writerArgs, image, source });
  },
  run: async (scope, { disk, image }): Promise<WorkerBoot> => {
    if (image.kind === 'release') return image;
    const deploy = (): Promise<WorkerBoot> => deployOrPivot(scope, disk, image);
    // What the cluster serves cannot be taken back here.
    return image.kind === 'served' ? deploy() : withReleaseFallback(scope, deploy);
  },
});

async function deployOrPivot(
  scope: DeployScope,
  disk: TargetDisk,
  found: FoundImage,
): Promise<WorkerBoot> {
  const { note, signal } = scope;
  const { image, authFile, certificates } = found;
  const source = { image, authFile, ...(certificates === undefined ? {} : { certificates }) };
  const os = await osOf(scope, found);
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

/** The OS image and kernel arguments that the machine will be served. */
async function osOf(
  scope: DeployScope,
  { image, served }: FoundImage,
): Promise<EncapsulatedMachineConfig> {
  return readEncapsulated(overlayImage(await readServed(scope, served), image));
}

/**
 * What the machine-config-server served when the image was found.
 * @throws AgentError `layering.served-lost`
 */
async function readServed({ host, signal }: StepScope<'host'>, path: string): Promise<string> {
  const text = await host.readText(path, signal);
  if (text !== undefined) return text;
  throw layeringFailure('layering.served-lost', `${path} is missing`, { context: { path } });
}

/** Where the boot partition is mounted meanwhile. */
const place = '/mnt';

/** The Ignition of this host as the first start reads it (coreos-installer, `install.rs`). */
const onDisk = `${place}/ignition/config.ign`;

/**
 * Lets the first boot run with the image laid over what the machine-config-server serves: the node joins as one
 * that runs the image. It comes after the image was written, when it is certain that the first boot ends in it.
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
  destroys: true,
  touches: ['disk:install'],
  limit: minutes(15),
  preview: (_config, { ignition }) => [
    lsblkArgv,
    ...overlayCommands('<boot partition>', ignition.path).map(({ argv }) => argv),
  ],
  run: async (scope, { disk, ignition, image }) => {
    if (image.kind === 'release') return;
    const { host, signal } = scope;
    const overlaid = overlayImage(await readServed(scope, image.served), image.image);
    const whole = embedServed(await readServed(scope, ignition.path), overlaid);
    // A host that boots with a broken config is lost until a person comes.
    parseValidConfig(whole);
    parseValidConfig(overlaid);
    await host.writeFile(ignition.path, whole, { signal, mode: 0o600 });
    const written = await findWrittenDisk(scope, disk);
    await removeStaleMounts(scope, written.disk, [`${place}/boot`, place]);
    await runUndoable(
      scope,
      overlayCommands(written.boot.path, ignition.path),
      ({ argv, accept = [0] }) => host.exec(argv, { signal, accept, limit: minutes(2) }),
    );
  },
});

/** The commands that put another Ignition on the written disk, in one stroke. */
function overlayCommands(boot: string, ignition: string): readonly UndoableCommand[] {
  const beside = `${onDisk}.new`;
  return [
    ...mountCommands(boot, place),
    { argv: ['install', '-D', '--mode=0600', ignition, beside] },
    { argv: ['sync', '--file-system', place] },
    {
      argv: ['mv', '--force', beside, onDisk],
      // The first try has moved it; what is there is compared next.
      isDone: ({ context }) => String(context['stderr']).includes('cannot stat'),
    },
    { argv: ['cmp', ignition, onDisk] },
    ...leaveCommands(place),
  ];
}
