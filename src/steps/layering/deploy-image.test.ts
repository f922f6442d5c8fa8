import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { handOverFacts, fallbackFacts } from '../../../test/layering/hand-over-site.ts';
import { publishedFor } from '../../../test/layering/lane-facts.ts';
import { servedToWorker, workerCase, workerPointer } from '../../../test/layering/worker.ts';
import {
  coreOsDisk,
  deployableHost,
  lsblkOutput,
  targetOf,
} from '../../../test/support/disk-samples.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { type FakeHost, rest, fakeHost } from '../../../test/support/fake-host.ts';
import { runStep, tryStep } from '../../../test/support/run-step.ts';
import type { ConfigInput } from '../../config/schema.ts';
import { parseConfig } from '../../ignition/parse.ts';
import { readPointer } from '../../ignition/pointer.ts';
import { readServedConfig, servedImageProblem } from '../../layering/manifests/served-config.ts';
import { minutes } from '../../model/duration.ts';
import type { Clock } from '../../ports/clock.ts';
import type { BlockDevice } from '../disk/block-devices.ts';
import {
  bootsBuiltImage,
  overwriteOs,
  deployOwn,
  deployWorkerImage,
  overlayWorkerConfig,
} from './deploy-image.ts';
import type { WorkerImage, WorkerBoot } from './facts.ts';
import { workerFiles } from './find-worker-image.ts';

describe('the final OS image', () => {
  const osImage = 'quay.example/rhcos@sha256:9';
  const path = '/opt/install-dir/worker-h.ign';

  const dataUrl = (text: string): string => `data:;base64,${Buffer.from(text).toString('base64')}`;
  const machineConfig = JSON.stringify({
    spec: { osImageURL: osImage, kernelArguments: ['crashkernel=1G', 'nosmt'] },
  });
  const rendered = JSON.stringify({
    ignition: { version: '3.4.0' },
    storage: {
      files: [
        {
          path: '/etc/ignition-machine-config-encapsulated.json',
          contents: { source: dataUrl(machineConfig) },
        },
      ],
    },
  });
  const pointerTo = (source: string): string =>
    JSON.stringify({ ignition: { version: '3.2.0', config: { merge: [{ source }] } } });
  const embedded = pointerTo(`data:;base64,${gzipSync(rendered).toString('base64')}`);

  const hostWith = (disk: BlockDevice, ignition = embedded): FakeHost =>
    deployableHost(disk, 'BOOT_IMAGE=/vmlinuz ignition.platform.id=openstack quiet')
      .on(['getenforce'])
      .prints('Enforcing')
      .withFile(path, ignition);

  const sda = coreOsDisk('sda');

  interface Setting {
    readonly host: FakeHost;
    readonly disk?: BlockDevice;
    readonly writerArgs?: string[];
    readonly clock?: Clock;
  }

  const facts = {
    disk: targetOf(sda),
    ignition: { path, bytes: 1, sha256: '', origin: '', version: '3.2.0' },
    written: { disk: '/dev/sda' },
    published: undefined,
    boot: undefined,
  };

  const overwrite = ({ host, disk = sda, writerArgs = [], clock = fakeClock() }: Setting) =>
    runStep(overwriteOs, {
      config: { image: { skipMcoReboot: true, writerArgs } },
      host,
      clock,
      facts: { ...facts, disk: targetOf(disk) },
    });

  const ran = (host: FakeHost): string[] =>
    host.ran.map((argv) => argv.join(' ')).filter((command) => !command.startsWith('lsblk'));

  const deploy = (extra: string): string =>
    `ostree container image deploy --sysroot /mnt --authfile /root/.docker/config.json --imgref ostree-unverified-registry:${osImage} --karg ignition.platform.id=openstack --karg $ignition_firstboot --stateroot rhcos${extra}`;

  describe('layering/overwrite-os', () => {
    it('deploys the final OS image with the kernel arguments of the writer and the MachineConfig', async () => {
      const host = hostWith(sda);
      const writerArgs = ['--append-karg', 'ip=eth0:dhcp', '--copy-network', '--delete-karg', 'x'];
      const { notes } = await overwrite({ host, writerArgs });
      expect(notes).toEqual([]);
      expect(ran(host)).toEqual([
        'uname -m',
        'cat /proc/cmdline',
        'getenforce',
        'mount /dev/sda4 /mnt',
        'fsfreeze --unfreeze /mnt',
        'mount /dev/sda3 /mnt/boot',
        'fsfreeze --unfreeze /mnt/boot',
        'growpart --free-percent=92 /dev/sda 4',
        'xfs_growfs /mnt',
        'setenforce 0',
        deploy(' --karg ip=eth0:dhcp --karg crashkernel=1G --karg nosmt'),
        'fsfreeze --freeze /mnt/boot',
        'umount /mnt/boot',
        'fsfreeze --freeze /mnt',
        'umount /mnt',
        'setenforce 1',
      ]);
    });

    it.each([
      ['nvme0n1', 'mount /dev/nvme0n1p4 /mnt', 'growpart --free-percent=92 /dev/nvme0n1 4'],
      ['mmcblk1', 'mount /dev/mmcblk1p4 /mnt', 'growpart --free-percent=92 /dev/mmcblk1 4'],
    ])('finds the partitions of %s', async (kname, mount, grow) => {
      const disk = coreOsDisk(kname);
      const host = hostWith(disk);
      await overwrite({ host, disk });
      expect(ran(host)).toEqual(expect.arrayContaining([mount, grow]));
    });

    it('gives up after five minutes on a disk without partitions', async () => {
      const host = hostWith({ ...sda, children: [] });
      const clock = fakeClock();
      const { notes } = await overwrite({ host, clock });
      expect(notes).toEqual([
        'warn: the final OS image is not written; the node will reboot once more',
      ]);
      expect(clock.now()).toBe(minutes(5));
      expect(ran(host)).not.toContain('mount /dev/sda4 /mnt');
    });

    it('does nothing on s390x', async () => {
      const host = hostWith(sda).on(['uname', '-m']).prints('s390x');
      await overwrite({ host });
      expect(ran(host)).toEqual(['uname -m']);
    });

    it('cleans up and does not fail the step when the deployment fails', async () => {
      const host = hostWith(sda).on(['ostree', rest]).fails(1, 'error: no');
      const { notes } = await overwrite({ host });
      expect(notes).toEqual([
        'warn: the final OS image is not written; the node will reboot once more',
      ]);
      expect(ran(host).slice(-3)).toEqual(['umount /mnt/boot', 'umount /mnt', 'setenforce 1']);
    });

    it.each([
      ['has no pointer', '{"ignition":{"version":"3.2.0"}}'],
      ['embeds an unreadable config', pointerTo('data:,{}')],
    ])('adds a note and continues when the Ignition %s', async (_, ignition) => {
      const host = hostWith(sda, ignition);
      const { notes } = await overwrite({ host });
      expect(notes).toHaveLength(1);
      expect(ran(host)).toEqual(['uname -m']);
    });
  });

  describe('the built image', () => {
    const { published } = handOverFacts;
    const { published: released } = fallbackFacts;
    const workers = publishedFor(['worker']);

    it.each([
      ['no image is known', undefined, undefined, false],
      ['it was built', published, undefined, true],
      ['it was built for workers only', workers, undefined, false],
      ['it could not be built', released, undefined, false],
      ['a worker found no image', undefined, { kind: 'release', why: 'none' }, false],
      ['a worker has it on its disk', undefined, { kind: 'deployed' }, true],
      ['a worker gets it at its first boot', undefined, { kind: 'first-boot', why: 'x' }, true],
    ] as const)('is booted when expected: %s', (...[, built, boot, isBooted]) => {
      expect(bootsBuiltImage(built, boot)).toBe(isBooted);
    });
  });
});

describe('layering/deploy-own', () => {
  const digest = `sha256:${'d'.repeat(64)}`;
  const address = '192.0.2.5:22626';
  const final = `registry.example/ocl/master@${digest}`;
  const staged = `${address}/ocl/master@${digest}`;
  const rendered = `rendered-master-${'0'.repeat(32)}`;
  const file = `/etc/mcs/bootstrap/machine-configs/${rendered}.yaml`;
  const machineConfig = `apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: ${rendered}
spec:
  osImageURL: ${final}
  kernelArguments: [nosmt]
  config: {ignition: {version: 3.5.0}}
`;
  const sda = coreOsDisk('sda');
  const originOf = (image: string): string =>
    `[origin]\ncontainer-image-reference=ostree-unverified-registry:${image}\n`;

  const hostWith = (origins = originOf(final)): FakeHost =>
    deployableHost(sda).on(['find', rest]).prints(origins).withFile(file, machineConfig);

  const published = publishedFor(['master'], { rendered, file, staged, digest, final });
  const registry = {
    kind: 'running',
    address,
    certificates: '/certificates',
    authFile: '/auth.json',
  } as const;

  const settings = (host: FakeHost, differs: object = {}) => ({
    config: {
      role: 'bootstrap' as const,
      layering: { mode: 'on' as const },
    },
    host,
    clock: fakeClock(),
    facts: {
      disk: targetOf(sda),
      written: { disk: '/dev/sda' },
      registry,
      published,
      ...differs,
    },
  });

  const commandsOf = (host: FakeHost): readonly string[] => host.ran.map((argv) => argv.join(' '));

  it('syncs instead of freezing the file system of the registry', async () => {
    const host = hostWith();
    await tryStep(deployOwn, settings(host));
    expect(commandsOf(host)).not.toContain('fsfreeze --freeze /mnt');
    expect(commandsOf(host).slice(-2)).toEqual(['sync --file-system /mnt', 'umount /mnt']);
  });

  it.each([
    ['the registry of this host', originOf(staged)],
    ['no image', '[origin]\nrefspec=rhcos/x86_64/stable\n'],
  ])('refuses a disk whose origin is %s and unmounts it', async (_, origins) => {
    const host = hostWith(origins);
    const { failure } = await tryStep(deployOwn, settings(host));
    expect(failure).toMatchObject({ code: 'image.wrong-origin' });
    expect(commandsOf(host).slice(-2)).toEqual(['umount /mnt/boot', 'umount /mnt']);
  });

  it('fails when the first boot could not pull the image either', async () => {
    const host = hostWith();
    host.on(['ostree', rest]).fails(1, 'Writing content object: No space left on device');
    const { failure } = await tryStep(deployOwn, settings(host));
    expect(failure).toMatchObject({ code: 'image.no-room' });
  });
});

describe('layering/deploy-worker-image', () => {
  const { image, rendered, repository } = workerCase;
  const sda = coreOsDisk('sda');
  const found = { image, rendered, served: workerFiles.served, authFile: workerFiles.authFile };

  const hostWith = (): FakeHost =>
    deployableHost(sda).withFile(workerFiles.served, servedToWorker());

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

  it('deploys the image under its final name', async () => {
    const host = hostWith();
    const { value, notes } = await deploy({ host });
    expect(value).toEqual({ kind: 'deployed' });
    expect(notes).toEqual([]);
    expect(deployments(host)).toEqual([
      `ostree container image deploy --sysroot /mnt --authfile ${workerFiles.authFile} --imgref ostree-unverified-registry:${image} --karg ignition.platform.id=metal --karg $ignition_firstboot --stateroot rhcos`,
    ]);
  });

  it('uses the certificates of the cluster', async () => {
    const host = hostWith();
    const { certificates } = workerFiles;
    await deploy({ host, worker: { kind: 'served', ...found, certificates } });
    expect(deployments(host)[0]).toContain(`--cert-dir ${certificates}`);
  });

  it.each(['connection refused', 'unexpected EOF', 'something else'])(
    'leaves the image to the first boot when the deployment fails with %s',
    async (stderr) => {
      const { value, notes } = await deploy({ host: failing(stderr) });
      expect(value).toMatchObject({ kind: 'first-boot' });
      expect(notes).toEqual([
        'warn: the built OS image is not deployed; the node will pull it and reboot once more',
      ]);
    },
  );

  it('leaves the image to the first boot on s390x', async () => {
    const host = hostWith().on(['uname', '-m']).prints('s390x');
    expect((await deploy({ host })).value).toMatchObject({ kind: 'first-boot' });
    expect(deployments(host)).toEqual([]);
  });

  const noRoom = "min-free-space-percent '3%' would be exceeded";
  const other = 'Image has architecture arm64; expected amd64';

  it.each([
    [noRoom, 'image.no-room'],
    [other, 'image.wrong-architecture'],
  ])('follows the failure policy when the first boot would fail too: %s', async (stderr, code) => {
    expect((await deploy({ host: failing(stderr) })).failure).toMatchObject({ code });
    const { value } = await deploy({ host: failing(stderr), failurePolicy: 'fallback-stock' });
    expect(value).toMatchObject({ kind: 'release' });
  });

  it('fails despite fallback-stock when the cluster serves the image itself', async () => {
    const { failure } = await deploy({
      host: failing(noRoom),
      worker: { kind: 'served', ...found },
      failurePolicy: 'fallback-stock',
    });
    expect(failure).toMatchObject({ code: 'image.no-room' });
  });

  it('fails when the saved config is missing', async () => {
    const host = hostWith();
    await host.remove(workerFiles.served, new AbortController().signal);
    const { failure } = await deploy({ host });
    expect(failure).toMatchObject({ code: 'layering.served-lost' });
  });
});

describe('layering/overlay-worker-config', () => {
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

  it('writes an Ignition that embeds the served config with the image', async () => {
    const host = hostWith();
    await runStep(overlayWorkerConfig, settings(host));
    const pointer = readPointer(parseConfig(host.textOf(overlaid) ?? ''));
    expect(pointer.kind).toBe('embedded');
    const served = readServedConfig(pointer.kind === 'embedded' ? pointer.content : '');
    expect(servedImageProblem(served, image)).toBeUndefined();
    expect(host.files.get(overlaid)?.mode).toBe(0o600);
    // A resumed run compares it with the fetched config.
    expect(host.textOf(ignition)).toBe(workerPointer);
  });

  it('fails and unmounts when the disk differs from the written config', async () => {
    const host = hostWith().on(['cmp', rest]).fails(1, 'differ: byte 1');
    const { failure } = await tryStep(overlayWorkerConfig, settings(host));
    expect(failure).toMatchObject({ code: 'command.failed' });
    expect(host.ran.at(-1)).toEqual(['umount', '/mnt']);
  });
});
