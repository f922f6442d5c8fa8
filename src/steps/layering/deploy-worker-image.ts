import { all } from '../../engine/condition.ts';
import { asAgentError } from '../../engine/failures.ts';
import { type EncapsulatedMachineConfig, readEncapsulated } from '../../ignition/encapsulated.ts';
import { overlayImage } from '../../layering/served-config.ts';
import { hours } from '../../model/duration.ts';
import { takesBuiltImage, writesDisk } from '../conditions.ts';
import { TargetDisk } from '../disk/facts.ts';
import {
  canDeploy,
  canPivotAtFirstBoot,
  deployFinal,
  previewDeploy,
} from '../image/deploy-final.ts';
import { withHeartbeat } from '../heartbeat.ts';
import { step, type StepScope } from '../step.ts';
import { layeringStepFailure } from './failures.ts';
import { workerFiles } from './look-for-image.ts';
import { orStock } from './or-stock.ts';
import { type FoundImage, WorkerBoot, WorkerImage } from './worker-facts.ts';

type DeployScope = StepScope<'host' | 'clock'>;

/**
 * Puts the image on the disk before its first boot. Where the registry fails, the node goes over to the image
 * at its first boot by itself; where that could not end well either, nothing is promised to the cluster.
 */
export const deployWorkerImage = step({
  id: 'layering/deploy-worker-image',
  title: 'Write the built image before the first boot',
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
    if (image.kind === 'stock') return image;
    const deploy = (): Promise<WorkerBoot> => deployOrPivot(scope, disk, image);
    // What the cluster serves cannot be taken back here.
    return image.kind === 'served' ? deploy() : orStock(scope, deploy);
  },
});

async function deployOrPivot(
  scope: DeployScope,
  disk: TargetDisk,
  found: FoundImage,
): Promise<WorkerBoot> {
  const { note, signal } = scope;
  if (!(await canDeploy(scope))) return { kind: 'first-boot', why: 'the architecture is s390x' };
  const { image, authFile, certificates } = found;
  const source = { image, authFile, ...(certificates === undefined ? {} : { certificates }) };
  const os = await osOf(scope, found);
  try {
    await withHeartbeat('writing the built image', scope, () =>
      deployFinal(scope, disk, { os, source }),
    );
    return { kind: 'deployed' };
  } catch (error) {
    signal.throwIfAborted();
    const failure = asAgentError(error);
    if (!canPivotAtFirstBoot(failure)) throw error;
    const { code, message } = failure;
    note('warn', 'the built image is not written; the node will pull it and reboot once more', {
      code,
      reason: message,
    });
    return { kind: 'first-boot', why: `${code}: ${message}` };
  }
}

/** What the machine will be told to be, its kernel arguments among it. */
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
export async function readServed(
  { host, signal }: StepScope<'host'>,
  path: string,
): Promise<string> {
  const text = await host.readText(path, signal);
  if (text !== undefined) return text;
  throw layeringStepFailure('layering.served-lost', `there is no ${path}`, { context: { path } });
}
