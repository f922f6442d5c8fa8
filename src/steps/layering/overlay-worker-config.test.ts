import { describe, expect, it } from 'vitest';
import { servedToWorker, workerCase, workerPointer } from '../../../test/layering/worker.ts';
import { coreOsDisk, lsblkOutput, targetOf } from '../../../test/support/disk-samples.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { fakeHost, type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import { parseConfig } from '../../ignition/parse.ts';
import { readPointer } from '../../ignition/pointer.ts';
import { readServedConfig, servedImageProblem } from '../../layering/manifests/served-config.ts';
import { overlayWorkerConfig } from './deploy-image.ts';
import type { WorkerBoot, WorkerImage } from './facts.ts';
import { workerFiles } from './find-worker-image.ts';

const { ignition, image, rendered, repository } = workerCase;
const overlaid = ignition.replace('.ign', '-overlaid.ign');
const sda = coreOsDisk('sda');
const found = { image, rendered, served: workerFiles.served, authFile: workerFiles.authFile };

const hostWith = (): FakeHost =>
  fakeHost()
    .on([rest])
    .succeeds()
    .on(['lsblk', rest])
    .prints(lsblkOutput(sda))
    .withFile(ignition, workerPointer)
    .withFile(workerFiles.served, servedToWorker());

const settings = (
  host: FakeHost,
  worker: WorkerImage = { kind: 'overlay', ...found },
  boot: WorkerBoot = { kind: 'deployed' },
) => ({
  config: { role: 'worker' as const, layering: { repository } },
  host,
  clock: fakeClock(),
  facts: {
    disk: targetOf(sda),
    ignition: { path: ignition, bytes: 1, sha256: '', origin: '', version: '3.2.0' },
    image: worker,
    boot,
  },
});

describe('layering/overlay-worker-config', () => {
  it('makes an Ignition with which the node joins as one that runs the image', async () => {
    const host = hostWith();
    await runStep(overlayWorkerConfig, settings(host));
    const pointer = readPointer(parseConfig(host.textOf(overlaid) ?? ''));
    expect(pointer.kind).toBe('embedded');
    const served = readServedConfig(pointer.kind === 'embedded' ? pointer.content : '');
    expect(servedImageProblem(served, image)).toBeUndefined();
    expect(host.files.get(overlaid)?.mode).toBe(0o600);
    // A run that is resumed compares it with what was fetched.
    expect(host.textOf(ignition)).toBe(workerPointer);
  });

  it('fails, with nothing left mounted, where the disk does not hold what was written', async () => {
    const host = hostWith().on(['cmp', rest]).fails(1, 'differ: byte 1');
    const { failure } = await tryStep(overlayWorkerConfig, settings(host));
    expect(failure).toMatchObject({ code: 'command.failed' });
    expect(host.ran.at(-1)).toEqual(['umount', '/mnt']);
  });
});
