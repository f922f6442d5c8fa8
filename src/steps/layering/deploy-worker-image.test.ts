import { describe, expect, it } from 'vitest';
import { servedToWorker, workerCase } from '../../../test/layering/worker.ts';
import { coreOsDisk, deployableHost, targetOf } from '../../../test/support/disk-samples.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { tryStep } from '../../../test/support/run-step.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { deployWorkerImage } from './deploy-image.ts';
import type { WorkerImage } from './facts.ts';
import { workerFiles } from './find-worker-image.ts';

const { image, rendered, repository } = workerCase;
const sda = coreOsDisk('sda');
const found = { image, rendered, served: workerFiles.served, authFile: workerFiles.authFile };

const hostWith = (): FakeHost => deployableHost(sda).withFile(workerFiles.served, servedToWorker());

interface Setting {
  readonly host?: FakeHost;
  readonly worker?: WorkerImage;
  readonly failurePolicy?: 'fail' | 'fallback-stock';
}

const deploy = ({
  host = hostWith(),
  worker = { kind: 'overlay', ...found },
  failurePolicy = 'fail',
}: Setting) => {
  const config: ConfigInput = { role: 'worker', layering: { repository, failurePolicy } };
  const facts = { disk: targetOf(sda), image: worker };
  return tryStep(deployWorkerImage, { config, host, clock: fakeClock(), facts });
};

const deployments = (host: FakeHost): readonly string[] =>
  host.ran.filter(([program]) => program === 'ostree').map((argv) => argv.join(' '));

const failing = (stderr: string): FakeHost =>
  hostWith()
    .on(['ostree', rest])
    .fails(1, `Error: Performing deployment\n\nCaused by:\n    0: ${stderr}`);

describe('layering/deploy-worker-image', () => {
  it('puts the image on the disk, under the name that the node will say', async () => {
    const host = hostWith();
    const { value, notes } = await deploy({ host });
    expect(value).toEqual({ kind: 'deployed' });
    expect(notes).toEqual([]);
    expect(deployments(host)).toEqual([
      `ostree container image deploy --sysroot /mnt --authfile ${workerFiles.authFile} --imgref ostree-unverified-registry:${image} --karg ignition.platform.id=metal --karg $ignition_firstboot --stateroot rhcos`,
    ]);
  });

  it('trusts the certificates of the cluster', async () => {
    const host = hostWith();
    const { certificates } = workerFiles;
    await deploy({ host, worker: { kind: 'served', ...found, certificates } });
    expect(deployments(host)[0]).toContain(`--cert-dir ${certificates}`);
  });

  it.each(['connection refused', 'unexpected EOF', 'something else'])(
    'leaves it to the first boot when the deployment fails with %s',
    async (stderr) => {
      const { value, notes } = await deploy({ host: failing(stderr) });
      expect(value).toMatchObject({ kind: 'first-boot' });
      expect(notes).toEqual([
        'warn: the built OS image is not deployed; the node will pull it and reboot once more',
      ]);
    },
  );

  it('leaves s390x to the first boot', async () => {
    const host = hostWith().on(['uname', '-m']).prints('s390x');
    expect((await deploy({ host })).value).toMatchObject({ kind: 'first-boot' });
    expect(deployments(host)).toEqual([]);
  });

  const noRoom = "min-free-space-percent '3%' would be exceeded";
  const other = 'Image has architecture arm64; expected amd64';

  it.each([
    [noRoom, 'image.no-room'],
    [other, 'image.wrong-architecture'],
  ])('promises nothing when the first boot could not do it either: %s', async (stderr, code) => {
    expect((await deploy({ host: failing(stderr) })).failure).toMatchObject({ code });
    const { value } = await deploy({ host: failing(stderr), failurePolicy: 'fallback-stock' });
    expect(value).toMatchObject({ kind: 'release' });
  });

  it('fails by any policy when the cluster serves what does not fit', async () => {
    const { failure } = await deploy({
      host: failing(noRoom),
      worker: { kind: 'served', ...found },
      failurePolicy: 'fallback-stock',
    });
    expect(failure).toMatchObject({ code: 'image.no-room' });
  });

  it('tells when what was served is gone', async () => {
    const host = hostWith();
    await host.remove(workerFiles.served, new AbortController().signal);
    const { failure } = await deploy({ host });
    expect(failure).toMatchObject({ code: 'layering.served-lost' });
  });
});
