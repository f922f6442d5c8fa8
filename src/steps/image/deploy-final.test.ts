import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { authority } from '../../../test/support/authority.ts';
import {
  coreOsDisk,
  deployableHost,
  lsblkOutput,
  targetOf,
} from '../../../test/support/disk-samples.ts';
import { downloadOf } from '../../../test/support/download.ts';
import { fakeClock } from '../../../test/support/fake-clock.ts';
import { type FakeHost, fakeHost, rest } from '../../../test/support/fake-host.ts';
import { fakeWeb, type FakeWeb } from '../../../test/support/fake-web.ts';
import { pullSamples } from '../../../test/support/os-samples.ts';
import {
  isSafeToRepeat,
  runStep,
  statusesOf,
  stepThat,
  tryStep,
} from '../../../test/support/run-step.ts';
import { commandFailed, commandStopped } from '../../adapters/host/command-failures.ts';
import { webFailure } from '../../adapters/http/failures.ts';
import type { ConfigInput } from '../../config/schema.ts';
import type { EncapsulatedMachineConfig } from '../../ignition/encapsulated.ts';
import { encodeDataUrl } from '../../ignition/resource.ts';
import { hours, minutes, seconds } from '../../model/duration.ts';
import { type BlockDevice, freePercent } from '../disk/block-devices.ts';
import {
  canDeploy,
  canPivotAtFirstBoot,
  deployFailure,
  deployFinal,
  findFinalOs,
  readRendered,
  refuseOrigins,
} from './deploy-final.ts';
import { imageFailure } from './failures.ts';

const image = 'registry.example:5000/os@sha256:1';
const { otherArchitecture, noRoom, cut, gone } = pullSamples;

const failed = (stderr: string): Error =>
  commandFailed({ argv: ['ostree'], duration: 1, stderr }, { exitCode: 1 });

describe('deployFailure', () => {
  it.each([
    ['another architecture', otherArchitecture, 'image.wrong-architecture', false],
    ['a full disk', noRoom, 'image.no-room', false],
    ['an interrupted pull', cut, 'image.pull-cut', true],
    ['an unreachable registry', gone, 'image.registry-unreachable', true],
    ['another error', 'error: Bootloader write config: x', 'image.deploy-failed', true],
  ])('classifies %s and whether the node can still pivot at the first boot', (...row) => {
    const [, stderr, code, can] = row;
    const failure = deployFailure(failed(stderr), image);
    expect(failure).toMatchObject({ code, context: { image } });
    expect(canPivotAtFirstBoot(failure)).toBe(can);
  });

  it('returns a stopped command unchanged', () => {
    const stopped = commandStopped({ argv: ['ostree'], duration: 1 }, 'enough');
    expect(deployFailure(stopped, image)).toBe(stopped);
    expect(canPivotAtFirstBoot(stopped)).toBe(true);
  });
});

const final = `quay.example/team/os@sha256:${'a'.repeat(64)}`;
const staging = '192.0.2.5:22626';
const source = `${staging}/os@sha256:1`;
const ofDisk = '[origin]\nrefspec=rhcos/x86_64/stable\n';
const origin = (image: string): string =>
  `[origin]\ncontainer-image-reference=ostree-unverified-registry:${image}\n`;

describe('refuseOrigins', () => {
  it.each([
    ['one image', origin(final)],
    ['one image twice', origin(final) + origin(final)],
    ['an image of an earlier run besides it', origin(`${final.slice(0, -1)}b`) + origin(final)],
  ])('accepts %s', (_, stdout) => {
    expect(() => refuseOrigins(ofDisk + stdout, { image: final, source })).not.toThrow();
  });

  it('accepts the final image pulled from another repository of its registry, but not that repository', () => {
    const near = 'quay.example/near/os@sha256:1';
    const check = (stdout: string) => () => refuseOrigins(stdout, { image: final, source: near });
    expect(check(origin(final))).not.toThrow();
    expect(check(origin(final) + origin(near))).toThrow();
  });

  it.each([
    ['no image', ofDisk, 'nothing'],
    ['another image', origin('quay.example/other'), 'quay.example/other'],
    ['the source of the pull', origin(source), source],
    [
      'another image of the source registry',
      origin(final) + origin(`${staging}/x`),
      `${staging}/x`,
    ],
  ])('refuses %s', (_, stdout, found) => {
    expect(() => refuseOrigins(stdout, { image: final, source })).toThrow(
      expect.objectContaining({ code: 'image.wrong-origin', context: { found, image: final } }),
    );
  });
});

describe('deployFinal', () => {
  const os = { osImageURL: final, kernelArguments: ['crashkernel=1G', 'nosmt quiet'] };
  const own = { image: final, authFile: '/auth.json' };
  const near = { image: source, authFile: '/auth.json', certificates: '/certificates' };
  const sda = coreOsDisk('sda', { serial: 'A' });
  const deploy = ['ostree', 'container', rest] as const;
  const kargs = ['ostree', 'admin', rest] as const;

  const hostWith = (disk = sda, clock = fakeClock()): FakeHost =>
    deployableHost(
      disk,
      'BOOT_IMAGE=/vmlinuz x=ignition.platform.id= ignition.platform.id=nutanix',
      clock,
    )
      .on(['getenforce'])
      .prints('Enforcing')
      .on(['find', rest])
      .prints(origin(final));

  type Pattern = Parameters<FakeHost['on']>[0];

  interface Setting extends Partial<Parameters<typeof deployFinal>[2]> {
    readonly host: FakeHost;
    readonly disk?: BlockDevice;
    readonly clock?: ReturnType<typeof fakeClock>;
    readonly signal?: AbortSignal;
    readonly config?: ConfigInput;
  }

  /** A step that deploys the image, and nothing else. */
  const deploying = (disk: BlockDevice, options: Parameters<typeof deployFinal>[2]) =>
    stepThat(['host'], (scope) => deployFinal(scope, targetOf(disk), options));

  const deployTo = ({ disk = sda, os: wanted = os, source: from = own, ...more }: Setting) => {
    const { isRootShared, ...run } = more;
    const options = isRootShared === undefined ? {} : { isRootShared };
    return tryStep(deploying(disk, { os: wanted, source: from, ...options }), run);
  };

  const ran = (host: FakeHost): string[] =>
    host.ran.map((argv) => argv.join(' ')).filter((command) => !command.startsWith('lsblk'));

  const mounted = [
    ...['mount /dev/sda4 /mnt', 'fsfreeze --unfreeze /mnt'],
    ...['mount /dev/sda3 /mnt/boot', 'fsfreeze --unfreeze /mnt/boot'],
  ];
  const grown = ['growpart --free-percent=92 /dev/sda 4', 'xfs_growfs /mnt'];
  const bootLeft = ['fsfreeze --freeze /mnt/boot', 'umount /mnt/boot'];
  const rootLeft = ['fsfreeze --freeze /mnt', 'umount /mnt'];
  const undone = ['umount /mnt/boot', 'umount /mnt', 'setenforce 1'];

  it('mounts and grows the disk, deploys with SELinux off, and leaves frozen file systems', async () => {
    const host = hostWith().withFile('/etc/writer.yaml', 'append-karg: [rd.multipath=default]\n');
    const writerArgs = [
      ...['--config-file', '/etc/writer.yaml', '--append-karg', 'ip=dhcp'],
      ...['--console', 'ttyS0,115200n8', '--delete-karg', 'x'],
    ];
    const config = { image: { writerArgs } };
    const { failure, notes, progress } = await deployTo({ host, config });
    expect([failure, notes, progress]).toEqual([undefined, [], [{ info: `deploying ${final}` }]]);
    expect(ran(host)).toEqual([
      ...['cat /proc/cmdline', 'getenforce', ...mounted, ...grown, 'setenforce 0'],
      `ostree container image deploy --sysroot /mnt --authfile /auth.json --imgref ostree-unverified-registry:${final} --karg ignition.platform.id=nutanix --karg $ignition_firstboot --stateroot rhcos --karg rd.multipath=default --karg ip=dhcp --karg console=ttyS0,115200n8 --karg crashkernel=1G --karg nosmt --karg quiet`,
      ...[...bootLeft, ...rootLeft, 'setenforce 1'],
    ]);
  });

  it('pulls from another name with its certificates, and reads the recorded name back', async () => {
    const host = hostWith().on(['cat', '/proc/cmdline']).prints('quiet');
    const { failure } = await deployTo({ host, source: near, isRootShared: true });
    expect(failure).toBeUndefined();
    expect(ran(host).slice(-7)).toEqual([
      `ostree container image deploy --sysroot /mnt --authfile /auth.json --cert-dir /certificates --imgref ostree-unverified-registry:${source} --target-imgref ostree-unverified-registry:${final} --karg ignition.platform.id=metal --karg $ignition_firstboot --stateroot rhcos --karg crashkernel=1G --karg nosmt --karg quiet`,
      'find /mnt/ostree/deploy/rhcos/deploy -maxdepth 1 -name *.origin -exec cat {} +',
      ...bootLeft,
      // A frozen root would stay frozen for its other users.
      ...['sync --file-system /mnt', 'umount /mnt', 'setenforce 1'],
    ]);
  });

  it('refuses a disk that would update from the source of the pull, and unmounts it', async () => {
    const host = hostWith().on(['find', rest]).prints(origin(source));
    const { failure } = await deployTo({ host, source: near });
    const context = { found: source, image: final };
    expect(failure).toMatchObject({ code: 'image.wrong-origin', context });
    expect(ran(host).slice(-3)).toEqual(undone);
  });

  it('removes the mounts of a killed run first, deepest first', async () => {
    const disk = {
      ...sda,
      children: sda.children.map((child, at) => ({
        ...child,
        mountpoints: [[], [], ['/mnt/boot'], ['/mnt']][at] ?? [],
      })),
    };
    const host = hostWith(disk);
    await deployTo({ host, disk });
    expect(ran(host).slice(0, 4)).toEqual([
      ...['fsfreeze --unfreeze /mnt/boot', 'umount /mnt/boot'],
      ...['fsfreeze --unfreeze /mnt', 'umount /mnt'],
    ]);
  });

  it('grows the root without a reserve on a disk that has no room for another one', async () => {
    const used = sda.children.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
    const disk = { ...sda, sizeBytes: used };
    expect(freePercent(disk, 0)).toBe(0);
    const host = hostWith(disk);
    await deployTo({ host, disk });
    expect(ran(host)).toContain('growpart /dev/sda 4');
  });

  it('accepts a root that an earlier attempt has grown', async () => {
    const host = hostWith().on(['growpart', rest]).fails(1, 'NOCHANGE: partition 4 is size 1');
    expect((await deployTo({ host })).failure).toBeUndefined();
    expect(ran(host).filter((command) => command.startsWith('growpart'))).toHaveLength(1);
  });

  it('grows no partition of another disk that has the name now, and tries once', async () => {
    const host = hostWith();
    host.on(['lsblk', rest]).inTurn(lsblkOutput(sda), lsblkOutput({ ...sda, serial: 'B' }));
    const { failure } = await deployTo({ host });
    expect(failure).toMatchObject({ code: 'disk.changed' });
    expect(ran(host)).toEqual(['cat /proc/cmdline', 'getenforce', ...mounted, ...undone]);
    expect(host.ran.filter(([program]) => program === 'lsblk')).toHaveLength(2);
  });

  it('waits until udev reports the partitions, at most five minutes', async () => {
    const unread = {
      ...sda,
      children: sda.children.map((child) => ({ ...child, label: '', partLabel: '' })),
    };
    const [clock, host] = [fakeClock(), hostWith()];
    host.on(['lsblk', rest]).inTurn(lsblkOutput(unread), lsblkOutput(unread), lsblkOutput(sda));
    const { failure, events } = await deployTo({ host, clock });
    expect(failure).toBeUndefined();
    expect(clock.elapsed()).toBe(seconds(2));
    expect(statusesOf(events)).toEqual(['/dev/sda has no root partition']);
    const late = fakeClock();
    const { failure: lateFailure } = await deployTo({ host: hostWith(unread), clock: late });
    expect(lateFailure).toMatchObject({ code: 'wait.timed-out' });
    expect(late.elapsed()).toBe(minutes(5));
  });

  it.each<[string, (host: FakeHost) => unknown, readonly string[]]>([
    ['is missing', (host) => host.on(['getenforce']).isMissing(), []],
    ['is disabled', (host) => host.on(['getenforce']).prints('Disabled'), []],
    ['is permissive', (host) => host.on(['getenforce']).prints('Permissive'), []],
    ...['', 'not Enforcing', 'Enforcing (mls)'].map(
      (mode): [string, (host: FakeHost) => unknown, readonly string[]] => [
        `has the mode "${mode}"`,
        (host) => host.on(['getenforce']).prints(mode),
        ['warn: the mode of SELinux is not known and stays unchanged'],
      ],
    ),
  ])('does not change SELinux when it %s', async (_, set, noted) => {
    const host = hostWith();
    set(host);
    const { failure, notes } = await deployTo({ host });
    expect(failure).toBeUndefined();
    expect(notes).toEqual(noted);
    expect(ran(host).filter((command) => command.startsWith('setenforce'))).toEqual([]);
  });

  it.each<[string, Pattern, string, readonly string[]]>([
    ['the mount of the boot partition', ['mount', '/dev/sda3', rest], 'command.failed', undone],
    ['xfs_growfs', ['xfs_growfs', rest], 'command.failed', undone],
    ['setenforce 0', ['setenforce', '0'], 'command.failed', undone],
    ['the deployment', deploy, 'image.deploy-failed', undone],
    ['find', ['find', rest], 'command.failed', undone],
    [
      'the freeze of the boot partition',
      ['fsfreeze', '--freeze', '/mnt/boot'],
      'command.failed',
      ['fsfreeze --unfreeze /mnt/boot', ...undone],
    ],
    [
      'umount of the frozen root',
      ['umount', '/mnt'],
      'command.failed',
      ['fsfreeze --unfreeze /mnt', 'umount /mnt', 'setenforce 1'],
    ],
  ])('restores everything when %s fails three times', async (_, broken, code, after) => {
    const clock = fakeClock();
    const host = hostWith(sda, clock).on(broken).fails(1, 'error: no');
    const { failure } = await deployTo({ host, clock, source: near });
    expect(failure).toMatchObject({ code });
    expect(clock.elapsed()).toBe(seconds(10));
    expect(ran(host).slice(-after.length)).toEqual(after);
    const isBroken = (command: string) =>
      command.startsWith(broken.filter((word) => word !== rest).join(' '));
    expect(ran(host).filter(isBroken).length).toBeGreaterThanOrEqual(3);
  });

  it.each<[string, readonly [string, ...string[]], string, string]>([
    [
      'mount',
      ['mount', '/dev/sda3', '/mnt/boot'],
      'mount: /mnt/boot: mount system call failed: Connection timed out.',
      'mount: /mnt/boot: /dev/mapper/san.1p3 already mounted on /mnt/boot.\n       dmesg(1) may have more information after failed mount system call.',
    ],
    [
      'fsfreeze',
      ['fsfreeze', '--freeze', '/mnt'],
      'fsfreeze: /mnt: freeze failed: Interrupted system call',
      'fsfreeze: /mnt: freeze failed: Device or resource busy',
    ],
    [
      'umount',
      ['umount', '/mnt/boot'],
      'umount: /mnt/boot: target is busy.',
      'umount: /mnt/boot: not mounted.',
    ],
    [
      'umount, like the first one,',
      ['umount', '/mnt/boot'],
      'umount: /mnt/boot: not mounted.',
      'umount: /mnt/boot: not mounted.',
    ],
  ])('goes on when the second %s finds the work done', async (_, argv, first, second) => {
    const [clock, host] = [fakeClock(), hostWith()];
    host.on(argv).inTurn({ exitCode: 1, stderr: first }, { exitCode: 1, stderr: second });
    const { failure, events } = await deployTo({ host, clock });
    expect(failure).toBeUndefined();
    expect(events.filter(({ type }) => type === 'wait.updated')).toMatchObject([
      {
        sentence: `${argv.slice(0, 2).join(' ')} succeeds`,
        status: `${argv[0]} ended with exit code 1: ${first}`,
      },
    ]);
    expect(ran(host).filter((command) => command === argv.join(' '))).toHaveLength(2);
    expect(clock.elapsed()).toBe(seconds(5));
    expect(ran(host).slice(-3)).toEqual([...rootLeft, 'setenforce 1']);
  });

  it.each([
    [
      'the innermost cause',
      'Error: x\n\nCaused by:\n    0: Importing\n    1: No space left on device',
      'image.no-room',
      'No space left on device',
    ],
    [
      'the command, where it tells no cause',
      'Killed',
      'image.deploy-failed',
      'ostree ended with exit code 1: Killed',
    ],
  ])('names the image that cannot be deployed, and %s', async (_, stderr, code, said) => {
    const host = hostWith().on(deploy).fails(1, stderr);
    const { failure } = await deployTo({ host, source: near });
    const message = `${source}: ${said}`;
    expect(failure).toMatchObject({ code, message, context: { image: source } });
  });

  it.each<[string, Pattern, number, string | undefined]>([
    ['cat', ['cat', rest], minutes(2), 'command.timed-out'],
    ['getenforce', ['getenforce'], minutes(2), undefined],
    ['the deployment', deploy, hours(1), 'command.timed-out'],
    ['setenforce 1', ['setenforce', '1'], seconds(2), undefined],
  ])('gives %s its time, and starts it once', async (_, slow, limit, code) => {
    const clock = fakeClock();
    const host = hostWith(sda, clock).on(slow).hangs();
    const { failure } = await deployTo({ host, clock });
    if (code === undefined) expect(failure).toBeUndefined();
    else expect(failure).toMatchObject({ code });
    expect(clock.elapsed()).toBe(limit);
  });

  it.each<[string, Pattern]>([
    ['the deployment', deploy],
    ['the change of kernel arguments', kargs],
  ])('restores everything when the run is stopped in %s', async (_, during) => {
    const run = new AbortController();
    const host = hostWith().withFile(
      '/mnt/ostree/boot.1/r/c/0/usr/lib/bootc/kargs.d/1.toml',
      'kargs = ["a"]',
    );
    host.on(during).answers(() => run.abort(new Error('stopped')));
    const { failure, notes, events } = await deployTo({ host, signal: run.signal });
    expect(failure).toMatchObject({ message: 'stopped' });
    expect([...notes, ...statusesOf(events)]).toEqual([]);
    expect(ran(host).slice(-4)).toEqual([expect.stringMatching(/^ostree /), ...undone]);
  });

  /**
   * A host that knows its mounts, and the system that its disk boots. A file system stays frozen
   * behind its unmount.
   */
  const deployedHost = () => {
    const mounts = new Set<string>();
    const frozen = new Set<string>();
    const booted: string[] = [];
    const host = hostWith().withFile(
      '/mnt/ostree/boot.1/r/c/0/usr/lib/bootc/kargs.d/1.toml',
      'kargs = ["nosmt", "a"]',
    );
    const entry = '/mnt/boot/loader/entries/ostree-2-rhcos.conf';
    const boot = (command: string, options: string): void => {
      if (mounts.size < 2 || frozen.size > 0) throw new Error('the disk cannot be written');
      booted.splice(0, booted.length, command);
      host.withFile(entry, `options ${options} ostree=/ostree/boot.1/r/c/0`);
    };
    const toggle = (places: Set<string>, place: string, isOn: boolean, problem: string) => {
      if (places.has(place) === isOn) return { exitCode: 1, stderr: problem };
      if (isOn) places.add(place);
      else places.delete(place);
      return {};
    };
    host
      .on(['lsblk', rest])
      .answers(() => {
        const at = (label: string) => (label === 'boot' ? '/mnt/boot' : '/mnt');
        const children = sda.children.map((child) => ({
          ...child,
          mountpoints: mounts.has(at(child.label)) && child.label !== '' ? [at(child.label)] : [],
        }));
        return lsblkOutput({ ...sda, children });
      })
      .on(['mount', rest])
      .answers(([, device = '', place = '']) =>
        toggle(mounts, place, true, `${device} already mounted on ${place}.`),
      )
      .on(['umount', rest])
      .answers(([, place = '']) => toggle(mounts, place, false, `${place}: not mounted.`))
      .on(['fsfreeze', '--freeze', rest])
      .answers(([, , place = '']) => toggle(frozen, place, true, 'Device or resource busy'))
      .on(['fsfreeze', '--unfreeze', rest])
      .answers(([, , place = '']) => toggle(frozen, place, false, 'Invalid argument'))
      .on(deploy)
      .answers((argv) => boot(argv.join(' '), 'nosmt'))
      .on(kargs)
      .answers((argv) => boot(booted[0] ?? '', `nosmt ${argv.slice(6).join(' ')}`));
    return { host, clock: fakeClock(), world: () => ({ mounts, frozen, booted }) };
  };

  it('leaves the same disk when it runs again, also after a kill before any command', async () => {
    await isSafeToRepeat(deploying(sda, { os, source: near }), deployedHost);
    const { world, ...run } = deployedHost();
    await runStep(deploying(sda, { os, source: near }), run);
    // Frozen, so that GRUB can read what is still in the log of XFS.
    expect(world()).toMatchObject({ mounts: new Set(), frozen: new Set(['/mnt/boot', '/mnt']) });
    expect(run.host.textOf('/mnt/boot/loader/entries/ostree-2-rhcos.conf')).toContain('append=a');
  });

  describe('kernel arguments of the image', () => {
    const entries = '/mnt/boot/loader/entries';
    const folder = '/mnt/ostree/boot.1/r/c/0/usr/lib/bootc/kargs.d';
    const added = (host: FakeHost): string[] =>
      ran(host).filter((command) => command.startsWith('ostree admin'));

    it('are added to the entry that boots, without those that it has and those of others', async () => {
      const host = hostWith()
        .withFile(`${entries}/ostree-1-rhcos.conf`, 'options ostree=/ostree/boot.0/r/old/0')
        .withFile(`${entries}/ostree-2-rhcos.conf`, 'options nosmt ostree=/ostree/boot.1/r/c/0')
        .withFile(`${folder}/10-site.toml`, 'kargs = ["nosmt", "a=1 b", "c"]')
        .withFile(`${folder}/20-arm.toml`, 'kargs = ["arm"]\nmatch-architectures = ["aarch64"]')
        .withFile(`${folder}/30-intel.toml`, 'kargs = ["intel"]\nmatch-architectures = ["x86_64"]')
        .withFile(`${folder}/README`, 'no TOML');
      const { notes } = await deployTo({ host });
      expect(notes).toEqual([]);
      expect(added(host)).toEqual([
        'ostree admin instutil set-kargs --sysroot=/mnt --merge --append=a=1 --append=b --append=c --append=intel',
      ]);
      expect(ran(host).at(-6)).toBe(added(host)[0]);
    });

    it('stay as they are when the entry has them', async () => {
      const host = hostWith()
        .withFile(`${entries}/ostree-2-rhcos.conf`, 'options a ostree=/ostree/boot.1/r/c/0')
        .withFile(`${folder}/10-site.toml`, 'kargs = ["a"]');
      expect((await deployTo({ host })).notes).toEqual([]);
      expect(added(host)).toEqual([]);
    });

    const file = '/usr/lib/bootc/kargs.d/10-site.toml';

    it.each<[string, (host: FakeHost) => unknown, string, string]>([
      [
        'cannot be read',
        (host) => host.withFile(`${folder}/10-site.toml`, 'args = ["a"]'),
        'image.bad-kernel-arguments',
        `${file}: `,
      ],
      [
        'have vanished',
        (host) => host.withLink(`${folder}/10-site.toml`, '/nowhere'),
        'image.bad-kernel-arguments',
        `${file}: `,
      ],
      [
        'belong to no deployment',
        (host) => host.withFile(`${entries}/ostree-3-rhcos.conf`, 'options quiet'),
        'image.deploy-failed',
        `${entries}/ostree-3-rhcos.conf boots no deployment of ostree`,
      ],
      [
        'belong to an entry that has vanished',
        (host) => host.withLink(`${entries}/ostree-3-rhcos.conf`, '/nowhere'),
        'image.deploy-failed',
        `${entries}/ostree-3-rhcos.conf boots no deployment of ostree`,
      ],
      [
        'have no entry',
        (host) => host.remove(`${entries}/ostree-2-rhcos.conf`, new AbortController().signal),
        'image.deploy-failed',
        `${entries}/ boots no deployment of ostree`,
      ],
      [
        'cannot be added',
        (host) =>
          host.withFile(`${folder}/10-site.toml`, 'kargs = ["a"]').on(kargs).fails(1, 'error: no'),
        'command.failed',
        'ostree ended with exit code 1: error: no',
      ],
    ])('are left out with a warning when they %s', async (_, set, code, reason) => {
      const host = hostWith();
      await set(host);
      const { failure, events } = await deployTo({ host });
      expect(failure).toBeUndefined();
      expect(events.filter(({ type }) => type === 'note')).toMatchObject([
        {
          level: 'warn',
          message: 'the node boots without the kernel arguments of its image',
          fields: { code, reason: expect.stringContaining(reason) as string },
        },
      ]);
      expect(ran(host).slice(-5)).toEqual([...bootLeft, ...rootLeft, 'setenforce 1']);
    });
  });
});

describe('canDeploy', () => {
  it.each([
    ['x86_64', true, []],
    [
      's390x',
      false,
      [
        'info: s390x boots from a fixed location: the operating system is not replaced before the first boot',
      ],
    ],
  ])('is known for %s: %s', async (architecture, expected, noted) => {
    let can: boolean | undefined;
    const asking = stepThat(['host'], async (scope) => {
      can = await canDeploy(scope);
    });
    const host = fakeHost().on(['uname', '-m']).prints(architecture);
    const { notes } = await runStep(asking, { host });
    expect([can, notes]).toEqual([expected, noted]);
  });
});

describe('the rendered config', () => {
  const path = '/opt/install-dir/worker-h.ign';
  const server = 'https://api-int.example:22623/config/worker';
  const plain = 'http://api-int.example:22624/config/worker';
  const os: EncapsulatedMachineConfig = { osImageURL: final, kernelArguments: ['nosmt'] };
  const dataUrl = (content: string | Uint8Array): string => encodeDataUrl(Buffer.from(content));
  const rendered = JSON.stringify({
    storage: {
      files: [
        {
          path: '/etc/ignition-machine-config-encapsulated.json',
          contents: { source: dataUrl(JSON.stringify({ spec: os })) },
        },
      ],
    },
  });
  const pointerTo = (resource: object): string =>
    JSON.stringify({
      ignition: {
        version: '3.2.0',
        config: { merge: [resource] },
        security: { tls: { certificateAuthorities: [{ source: dataUrl(authority) }] } },
      },
    });

  interface Setting {
    readonly ignition?: string;
    readonly web?: FakeWeb;
    readonly clock?: ReturnType<typeof fakeClock>;
    readonly signal?: AbortSignal;
    readonly layering?: ConfigInput['layering'];
    readonly read?: Parameters<typeof readRendered>[2]['read'];
  }

  const find = async ({ ignition, web = fakeWeb(), layering = {}, read, ...more }: Setting) => {
    let found: unknown;
    const finding = stepThat(['host', 'web'], async (scope) => {
      found = await (read === undefined
        ? findFinalOs(scope, path)
        : readRendered(scope, path, { read }));
    });
    const host = ignition === undefined ? fakeHost() : fakeHost().withFile(path, ignition);
    return { ...(await tryStep(finding, { host, web, config: { layering }, ...more })), found };
  };

  const unreachable = webFailure('web.unreachable', 'cannot be reached');

  it('is read from the Ignition config on the disk that embeds it', async () => {
    const web = fakeWeb();
    const ignition = pointerTo({ source: dataUrl(gzipSync(rendered)) });
    const { found, failure } = await find({ ignition, web });
    expect([found, failure]).toEqual([os, undefined]);
    expect(web.opened).toEqual([]);
  });

  it.each([
    ['https with the certificates of the config only', server, { ca: authority, caOnly: true }],
    ['plain http', plain, {}],
  ])('is fetched by %s', async (_, url, trust) => {
    const web = fakeWeb().with(url, gzipSync(rendered));
    const { found } = await find({
      ignition: pointerTo({ source: url, compression: 'gzip' }),
      web,
    });
    expect(found).toEqual(os);
    expect(web.opened).toEqual([
      {
        url,
        peer: 'the machine-config-server',
        limit: minutes(80),
        accept: 'application/vnd.coreos.ignition+json; version=3.4.0',
        signal: expect.any(AbortSignal) as AbortSignal,
        ...trust,
      },
    ]);
  });

  it('is fetched every 5 seconds until the server is up', async () => {
    const clock = fakeClock();
    const web = fakeWeb().with(plain, rendered).failing(plain, unreachable, 3);
    const { found, events } = await find({ ignition: pointerTo({ source: plain }), web, clock });
    expect(found).toEqual(os);
    expect(clock.elapsed()).toBe(seconds(15));
    expect(statusesOf(events)).toEqual(['cannot be reached']);
  });

  it.each([
    ['20 minutes', 'no image is built', { mode: 'off', buildMinutes: 15 }, 20],
    ['the time of two builds more', 'images may be built', { mode: 'on', buildMinutes: 15 }, 50],
  ] as const)('is awaited %s where %s', async (...[, , layering, limit]) => {
    const clock = fakeClock();
    const web = fakeWeb().failing(plain, unreachable);
    const ignition = pointerTo({ source: plain });
    const { failure } = await find({ ignition, web, clock, layering });
    expect(failure).toMatchObject({ code: 'wait.timed-out' });
    expect(clock.elapsed()).toBe(minutes(limit));
  });

  const failing = {
    remote: imageFailure('image.registry-unreachable', 'no'),
    media: imageFailure('image.corrupt', 'no'),
    limit: imageFailure('image.stalled', 'no'),
    input: imageFailure('image.not-found', 'no'),
    host: imageFailure('image.deploy-failed', 'no'),
  };

  it.each([
    ['waits', 'remote', 'the answer of the server', plain, minutes(20), 'wait.timed-out'],
    ['waits', 'media', 'the answer of the server', plain, minutes(20), 'wait.timed-out'],
    ['waits', 'limit', 'the answer of the server', plain, minutes(20), 'wait.timed-out'],
    ['fails at once', 'input', 'the answer of the server', plain, 0, 'image.not-found'],
    ['fails at once', 'host', 'the answer of the server', plain, 0, 'image.deploy-failed'],
    [
      'fails at once',
      'remote',
      'an embedded config',
      dataUrl(rendered),
      0,
      'image.registry-unreachable',
    ],
  ] as const)('%s on a failure of the kind %s to read %s', async (...row) => {
    const [, kind, , url, waited, code] = row;
    const clock = fakeClock();
    const { failure } = await find({
      ignition: pointerTo({ source: url }),
      web: fakeWeb().with(plain, rendered),
      clock,
      read: () => {
        throw failing[kind];
      },
    });
    expect(failure).toMatchObject({ code });
    expect(clock.elapsed()).toBe(waited);
  });

  it('is refused at once when it has more than 64 MiB', async () => {
    const chunk = new Uint8Array(1024 ** 2);
    const sending = (chunks: number): FakeWeb => ({
      ...fakeWeb(),
      open: () =>
        Promise.resolve({
          ...downloadOf('', { origin: `${plain}?token=x` }),
          body: (async function* () {
            for (let sent = 0; sent < chunks; sent += 1) yield await Promise.resolve(chunk);
          })(),
        }),
    });
    const ignition = pointerTo({ source: plain });
    const read = ({ length }: Uint8Array) => length;
    expect((await find({ ignition, web: sending(64), read })).found).toBe(64 * 1024 ** 2);
    expect((await find({ ignition, web: sending(65), read })).failure).toMatchObject({
      code: 'ignition.oversized',
      context: { origin: plain },
    });
  });

  it('is not awaited when the Ignition config is not on the host', async () => {
    const { failure } = await find({});
    expect(failure).toMatchObject({ code: 'image.file-missing', context: { path } });
  });

  it('is not awaited after a stop that cuts the request', async () => {
    const run = new AbortController();
    const web = {
      ...fakeWeb(),
      open: () => {
        run.abort(new Error('stopped'));
        return Promise.reject(unreachable);
      },
    };
    const ignition = pointerTo({ source: plain });
    const { failure, events } = await find({ ignition, web, signal: run.signal });
    expect(failure).toMatchObject({ message: 'stopped' });
    expect(statusesOf(events)).toEqual([]);
  });
});
