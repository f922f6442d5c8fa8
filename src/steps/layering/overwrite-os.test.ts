import { handOverFacts, fallbackFacts } from '../../../test/layering/hand-over-site.ts';
import { publishedFor } from '../../../test/layering/lane-facts.ts';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import {
  coreOsDisk,
  deployableHost,
  lsblkOutput,
  targetOf,
} from '../../../test/support/disk-samples.ts';
import { type FakeHost, rest } from '../../../test/support/fake-host.ts';
import { fakeWeb, type FakeWeb } from '../../../test/support/fake-web.ts';
import { runStep } from '../../../test/support/run-step.ts';
import { webFailure } from '../../adapters/http/failures.ts';
import { type BlockDevice } from '../disk/block-devices.ts';
import { bootsBuiltImage, overwriteOs } from './deploy-image.ts';

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
const served = 'http://api-int.example:22624/config/worker';

const hostWith = (disk: BlockDevice, ignition = embedded): FakeHost =>
  deployableHost(disk, 'BOOT_IMAGE=/vmlinuz ignition.platform.id=openstack quiet')
    .on(['getenforce'])
    .prints('Enforcing')
    .withFile(path, ignition);

const sda = coreOsDisk('sda');

interface Setting {
  readonly host: FakeHost;
  readonly disk?: BlockDevice;
  readonly web?: FakeWeb;
  readonly writerArgs?: string[];
  readonly signal?: AbortSignal;
}

const facts = {
  disk: targetOf(sda),
  ignition: { path, bytes: 1, sha256: '', origin: '', version: '3.2.0' },
  written: { disk: '/dev/sda' },
  published: undefined,
  boot: undefined,
};

const overwrite = ({ host, disk = sda, web = fakeWeb(), writerArgs = [], ...more }: Setting) =>
  runStep(overwriteOs, {
    config: { image: { skipMcoReboot: true, writerArgs } },
    host,
    web,
    clock: fakeClock(),
    facts: { ...facts, disk: targetOf(disk) },
    ...more,
  });

const ran = (host: FakeHost): string[] =>
  host.ran.map((argv) => argv.join(' ')).filter((command) => !command.startsWith('lsblk'));

const deploy = (extra: string, platform = 'openstack'): string =>
  `ostree container image deploy --sysroot /mnt --authfile /root/.docker/config.json --imgref ostree-unverified-registry:${osImage} --karg ignition.platform.id=${platform} --karg $ignition_firstboot --stateroot rhcos${extra}`;

/** A host whose Ignition leads to a machine-config-server that answers at the fourth time. */
const comingUp = () => ({
  host: hostWith(sda, pointerTo(served)),
  web: fakeWeb()
    .with(served, rendered)
    .failing(served, webFailure('web.unreachable', 'cannot be reached'), 3),
});

describe('image/overwrite-os', () => {
  it('puts the final system on the disk, with the kernel arguments of both', async () => {
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

  it('fetches the rendered config from the machine-config-server, and waits until it is up', async () => {
    const { host, web } = comingUp();
    const { events } = await overwrite({ host, web });
    expect(ran(host)).toContain(deploy(' --karg crashkernel=1G --karg nosmt'));
    expect(web.opened).toHaveLength(4);
    expect(web.opened[0]).toMatchObject({
      accept: 'application/vnd.coreos.ignition+json; version=3.4.0',
    });
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'wait.updated', status: 'cannot be reached' }),
    );
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

  it('waits until udev knows the partitions that were just written', async () => {
    const host = hostWith(sda);
    const unread = sda.children.map((child) => ({ ...child, label: '', partLabel: '' }));
    let polls = 0;
    host.on(['lsblk', rest]).answers(() => {
      polls += 1;
      return { stdout: lsblkOutput(polls < 3 ? { ...sda, children: unread } : sda) };
    });
    const { notes } = await overwrite({ host });
    expect(notes).toEqual([]);
    expect(polls).toBeGreaterThanOrEqual(3);
    expect(ran(host)).toContain('mount /dev/sda4 /mnt');
  });

  it('gives up on a disk without them after a minute', async () => {
    const host = hostWith({ ...sda, children: [] });
    const { notes } = await overwrite({ host, disk: sda });
    expect(notes).toHaveLength(1);
    expect(ran(host)).not.toContain('mount /dev/sda4 /mnt');
  });

  it('says bare metal where the command line of the live system says nothing', async () => {
    const host = hostWith(sda).on(['cat', '/proc/cmdline']).prints('');
    await overwrite({ host });
    expect(ran(host)).toContain(deploy(' --karg crashkernel=1G --karg nosmt', 'metal'));
  });

  it('leaves a disk of s390x as it is', async () => {
    const host = hostWith(sda).on(['uname', '-m']).prints('s390x');
    await overwrite({ host });
    expect(ran(host)).toEqual(['uname -m']);
  });

  it('writes to a disk that an earlier run has left frozen', async () => {
    const host = hostWith(sda);
    const { notes } = await overwrite({ host });
    expect(notes).toEqual([]);
    const commands = ran(host);
    for (const place of ['/mnt', '/mnt/boot']) {
      const thawed = commands.indexOf(`fsfreeze --unfreeze ${place}`);
      expect(thawed).toBe(commands.findIndex((command) => command.endsWith(` ${place}`)) + 1);
    }
  });

  it.each<[string, string, string[]]>([
    ['mount /dev/sda3', 'mount /dev/sda3 /mnt/boot', ['umount /mnt', 'setenforce 1']],
    [
      'the deployment',
      deploy(' --karg crashkernel=1G --karg nosmt'),
      ['umount /mnt/boot', 'umount /mnt', 'setenforce 1'],
    ],
    [
      'umount of a frozen file system',
      'umount /mnt/boot',
      ['fsfreeze --unfreeze /mnt/boot', 'umount /mnt/boot', 'umount /mnt', 'setenforce 1'],
    ],
  ])('undoes what is left when it fails at %s, and does not fail', async (_, broken, undone) => {
    const host = hostWith(sda).on(broken.split(' ')).fails(1, 'error: no');
    const { notes } = await overwrite({ host });
    expect(notes).toEqual([
      'warn: the final OS image is not written; the node will reboot once more',
    ]);
    const commands = ran(host);
    expect(commands.filter((command) => command === broken).length).toBeGreaterThanOrEqual(3);
    expect(commands.slice(-undone.length)).toEqual(undone);
  });

  it.each<[string, (host: FakeHost) => unknown]>([
    ['is not there', (host) => host.on(['getenforce']).isMissing()],
    ['is off', (host) => host.on(['getenforce']).prints('Disabled')],
    ['only tells', (host) => host.on(['getenforce']).prints('Permissive')],
  ])('touches SELinux neither before nor after where it %s', async (_, set) => {
    const host = hostWith(sda).on(['setenforce', rest]).fails(1, 'setenforce: SELinux is disabled');
    set(host);
    const { notes } = await overwrite({ host });
    expect(notes).toEqual([]);
    expect(ran(host).filter((command) => command.startsWith('setenforce'))).toEqual([]);
  });

  it.each([
    ['points nowhere', '{"ignition":{"version":"3.2.0"}}'],
    ['embeds nothing that can be read', pointerTo('data:,{}')],
  ])('tells and continues when the Ignition %s', async (_, ignition) => {
    const host = hostWith(sda, ignition);
    const { notes } = await overwrite({ host });
    expect(notes).toHaveLength(1);
    expect(ran(host)).toEqual(['uname -m']);
  });

  it('stops when the run is stopped, with nothing left mounted', async () => {
    const run = new AbortController();
    const host = hostWith(sda);
    host.on(['xfs_growfs', '/mnt']).answers(() => {
      run.abort(new Error('stopped'));
    });
    await expect(overwrite({ host, signal: run.signal })).rejects.toThrow('stopped');
    expect(ran(host).slice(-3)).toEqual(['umount /mnt/boot', 'umount /mnt', 'setenforce 1']);
  });
});

describe('the built image', () => {
  const { published } = handOverFacts;
  const { published: released } = fallbackFacts;
  const workers = publishedFor(['worker']);

  it.each([
    ['nothing is known of one', undefined, undefined, false],
    ['it was built', published, undefined, true],
    ['it was built for workers alone', workers, undefined, false],
    ['it could not be built', released, undefined, false],
    ['a worker found none', undefined, { kind: 'release', why: 'none' }, false],
    ['a worker has it on its disk', undefined, { kind: 'deployed' }, true],
    ['a worker gets it at its first boot', undefined, { kind: 'first-boot', why: 'x' }, true],
  ] as const)('is booted first when %s', (...[, built, boot, isBooted]) => {
    expect(bootsBuiltImage(built, boot)).toBe(isBooted);
  });
});
