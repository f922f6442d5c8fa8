import { describe, expect, it } from 'vitest';
import type { Config, ConfigInput } from '../../src/config/schema.ts';
import { describeRole, type Plan, type PlannedStep } from '../../src/engine/describe.ts';
import { chooseRole } from '../../src/roles/choose.ts';
import { cornerOf, corners } from './corners.ts';

const stepsOf = ({ items }: Plan): readonly PlannedStep[] =>
  items.flatMap((item) =>
    item.kind === 'step' ? [item.step] : item.lanes.flatMap(({ steps }) => steps),
  );
const activeIds = (plan: Plan): readonly string[] =>
  stepsOf(plan).flatMap(({ id, isActive }) => (isActive ? [id] : []));

const systemWriters = ['image/write', 'image/deploy-to-existing-root'];

/** Steps whose destructive commands contain values that only reading the disks can provide. */
const showsWhatItFinds = new Set(['disk/clean', 'disk/format-extra', 'image/write']);

describe.each(corners)('the plan of a $name', ({ config }) => {
  const plan = describeRole(chooseRole(config), config);

  it('ends with the step that leaves the host', () => {
    expect(stepsOf(plan).findLast(({ isActive }) => isActive)?.effect).toBe('leaves');
  });

  it('shows the destroying commands up to the write of the system', () => {
    const active = stepsOf(plan).filter(({ isActive }) => isActive);
    const write = active.findIndex(({ id }) => systemWriters.includes(id));
    const destroying = active.slice(0, write + 1).filter(({ effect }) => effect === 'destroys');
    const hidden = destroying.filter(({ commands }) =>
      commands.every(([, ...args]) => args.join(' ') === '…'),
    );
    expect(hidden).toEqual([]);
  });

  it('has only placeholders of needed facts in other commands', () => {
    for (const { id, commands, needs } of stepsOf(plan)) {
      const words = commands.flat().join(' ');
      expect(words, id).not.toMatch(/undefined|\[object/);
      if (showsWhatItFinds.has(id)) continue;
      const madeUp = [...words.matchAll(/<([^>]*)>/g)].filter(
        ([, name = '']) => !needs.some((need) => name.startsWith(`${need}.`)),
      );
      expect(madeUp, id).toEqual([]);
    }
  });

  it('writes the system in exactly one way', () => {
    const writers = activeIds(plan).filter((id) => systemWriters.includes(id));
    expect(writers).toHaveLength(1);
  });
});

describe('a worker', () => {
  it('waits for the control plane between the write and the boot entry', () => {
    const ids = activeIds(describeRole(chooseRole(cornerOf('worker', {})), cornerOf('worker', {})));
    const write = ids.indexOf('image/write');
    expect(ids.slice(write, write + 3)).toEqual([
      'image/write',
      'cluster/wait-for-control-plane',
      'disk/set-boot-entry',
    ]);
  });
});

const commandsIn = (config: Config, id: string): readonly string[] =>
  stepsOf(describeRole(chooseRole(config), config))
    .filter((step) => step.id === id)
    .flatMap(({ commands }) => commands.map((argv) => argv.join(' ')))
    .filter((command) => !command.endsWith(' …'));

describe('the plan of a step that destroys data', () => {
  it.each<[string, ConfigInput, readonly string[]]>([
    [
      'disk/clean',
      {},
      [
        'dmsetup remove --retry <mapped device>',
        'mdadm --stop <array>',
        'mdadm --zero-superblock <member of the array>',
        'wipefs --all <partition>',
        'wipefs --all <disk.target.path>',
        'udevadm settle --timeout=30',
      ],
    ],
    [
      'disk/format-extra',
      { disk: { format: ['/dev/sdb'] } },
      [
        'dmsetup remove --retry <mapped device>',
        'mdadm --stop <array>',
        'mdadm --zero-superblock <member of the array>',
        'wipefs --all <partition>',
        'wipefs --all /dev/sdb',
        'udevadm settle --timeout=30',
      ],
    ],
    [
      'image/write',
      { image: { writerArgs: ['--append-karg', 'nosmt'] } },
      [
        'coreos-installer install --insecure -i <ignition.host.path> --append-karg nosmt <disk.target.path>',
      ],
    ],
    [
      'image/deploy-to-existing-root',
      { image: { existingRoot: 'registry.example/os:1' } },
      [
        'mount /sysroot -o remount,rw',
        'mount /boot -o remount,rw',
        'stat /ostree/repo/refs/heads/coreos/node-image',
        'touch /ostree/repo/tmp/node-image',
        'ostree refs --repo /ostree/repo --delete coreos/node-image',
        'ostree admin stateroot-init install',
        'ostree container image deploy --stateroot install --sysroot / --authfile /root/.docker/config.json --karg $ignition_firstboot --karg ignition.platform.id=metal --image registry.example/os:1',
        'ostree admin finalize-staged',
        'mkdir -p /boot/ignition',
        'cp <ignition.host.path> /boot/ignition/config.ign',
        'touch /boot/ignition.firstboot',
      ],
    ],
  ])('shows every destroying command of %s, with its real argv', (id, turn, shown) => {
    expect(commandsIn(cornerOf('master', turn), id)).toEqual(shown);
  });

  it('shows the commands that remove the data of the staging registry', () => {
    const config = cornerOf('bootstrap', { cluster: { openshiftVersion: '4.21.0' } });
    expect(commandsIn(config, 'layering/stop-registry')).toEqual([
      'podman rm --force --ignore --time 10 bootwright-registry',
      'umount --recursive --quiet /run/bootwright/staging/ostree/deploy/rhcos/var/lib/bootwright-layering/storage/overlay',
      'rm --recursive --force --one-file-system /run/bootwright/staging/ostree/deploy/rhcos/var/lib/bootwright-layering',
      'sync --file-system /run/bootwright/staging',
      'umount /run/bootwright/staging',
    ]);
  });

  it('names the programs of a step with unknown commands', () => {
    const config = cornerOf('bootstrap', { cluster: { openshiftVersion: '4.21.0' } });
    const built = stepsOf(describeRole(chooseRole(config), config)).find(
      ({ id }) => id === 'layering/build-images',
    );
    expect(built).toMatchObject({ programs: ['podman', 'skopeo'] });
  });
});

describe('a bootstrap host', () => {
  const lanesOf = (config: Config) =>
    describeRole(chooseRole(config), config).items.filter(({ kind }) => kind === 'lanes');

  it('starts the control plane, writes its disk and waits for the cluster at the same time', () => {
    expect(lanesOf(cornerOf('bootstrap', {}))).toMatchObject([
      { lanes: [{ name: 'control plane' }, { name: 'disk' }, { name: 'cluster' }] },
    ]);
  });

  it('does so one after the other on request', () => {
    const config = cornerOf('bootstrap', { bootstrap: { lanes: 'in-turn' } });
    expect(lanesOf(config)).toEqual([]);
    const ids = activeIds(describeRole(chooseRole(config), config));
    const order = ['bootstrap/start-services', 'image/write', 'cluster/wait-for-masters'];
    expect(ids.filter((id) => order.includes(id))).toEqual(order);
  });
});

describe('built OS images', () => {
  const planOf = (kind: 'bootstrap' | 'single node', turn: ConfigInput): Plan => {
    const config = cornerOf(kind, turn);
    return describeRole(chooseRole(config), config);
  };
  const layeringIn = (plan: Plan): readonly string[] =>
    activeIds(plan).filter((id) => id.startsWith('layering/'));

  it.each([
    ['with layering off', { layering: { mode: 'off' as const } }],
    ['of a release without hand-over', { cluster: { openshiftVersion: '4.18.20' } }],
  ])('are not part of a plan %s', (...[, turn]) => {
    expect(layeringIn(planOf('bootstrap', turn))).toEqual([]);
    expect(layeringIn(planOf('single node', turn))).toEqual([]);
  });

  it('explain how nodes get them', () => {
    const plan = planOf('bootstrap', { cluster: { openshiftVersion: '4.21.0' } });
    const first = stepsOf(plan).find(({ id }) => id === 'layering/read-os-configs');
    expect(first?.explanation).toMatch(/^OpenShift 4\.21\.0: .*and boot into it$/);
  });

  it('are served before masters start, and handed over before this host deploys its own', () => {
    const order = [
      'layering/hold-config-server',
      'bootstrap/start-services',
      'layering/build-images',
      'layering/publish-images',
      'layering/serve-images',
      'layering/release-config-server',
      'layering/hand-over',
      'layering/deploy-own',
      'layering/wait-for-masters',
      'layering/stop-registry',
      'finish/leave-host',
    ];
    const ids = activeIds(planOf('bootstrap', { cluster: { openshiftVersion: '4.21.0' } }));
    expect(ids.filter((id) => order.includes(id))).toEqual(order);
  });
});

describe('the role of a single control-plane node', () => {
  it.each(['bootstrap', 'master'] as const)('is single-node when it is given as %s', (role) => {
    const config = { ...cornerOf('single node', {}), role };
    expect(chooseRole(config).name).toBe('single-node');
  });

  it('does not use the API of a cluster', () => {
    const config = cornerOf('single node', {});
    const uses = stepsOf(describeRole(chooseRole(config), config)).flatMap((step) => step.uses);
    expect(uses).not.toContain('kube');
  });
});
