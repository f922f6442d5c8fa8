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

describe.each(corners)('the plan of a $name', ({ config }) => {
  const plan = describeRole(chooseRole(config), config);

  it('looks before it destroys and leaves last', () => {
    const active = stepsOf(plan).filter(({ isActive }) => isActive);
    const firstDestroyer = active.findIndex(({ destroys }) => destroys);
    const lastPoll = active.findLastIndex(({ preflight }) => preflight);
    expect(firstDestroyer).toBeGreaterThan(lastPoll);
    expect(active.at(-1)?.leaves).toBe(true);
  });

  it('shows the commands of what destroys, with no value that is not known yet', () => {
    for (const step of stepsOf(plan)) {
      if (step.destroys && step.isActive) expect(step.commands, step.id).not.toEqual([]);
      expect(step.commands.flat().join(' '), step.id).not.toMatch(/undefined|\[object/);
    }
  });

  it('writes the system in exactly one way', () => {
    const writers = activeIds(plan).filter((id) =>
      ['image/write', 'image/deploy-to-existing-root'].includes(id),
    );
    expect(writers).toHaveLength(1);
  });
});

describe('a worker', () => {
  it('waits for the control plane after the write and before the firmware is set', () => {
    const ids = activeIds(describeRole(chooseRole(cornerOf('worker', {})), cornerOf('worker', {})));
    const write = ids.indexOf('image/write');
    expect(ids.slice(write, write + 3)).toEqual([
      'image/write',
      'control-plane/wait-for-masters',
      'disk/set-boot-entry',
    ]);
  });
});

/** `vgchange`, and of programs that do many things the word that says which. */
const shortOf = (argv: readonly string[]): string =>
  argv
    .filter((word) => /^(--?[a-z-]+|[a-z][a-z0-9_-]*)$/.test(word))
    .slice(
      0,
      ['efibootmgr', 'mdadm', 'dmsetup', 'ostree', 'systemctl'].includes(argv[0] ?? '') ? 4 : 1,
    )
    .join(' ');

describe('a plan of a step that decides on the host', () => {
  it.each([
    [
      'disk/clean',
      {},
      'vgs,vgchange,vgremove,pvs,pvremove,dmsetup remove --retry,mdadm --stop,mdadm --zero-superblock,wipefs,wipefs,udevadm',
    ],
    [
      'disk/format-extra',
      { disk: { format: ['/dev/sdb'] } },
      'dd,wipefs,wipefs,dd,dd,blockdev,udevadm,wipefs',
    ],
    [
      'disk/set-boot-entry',
      {},
      'test,bootlist,test,lsblk,mount,ls,umount,uname,efibootmgr -v,efibootmgr -v --delete-bootnum --bootnum,efibootmgr -v -d -p,efibootmgr -v --delete-bootnum --bootnum,efibootmgr -v,efibootmgr --bootorder,efibootmgr -l',
    ],
    [
      'registry/copy',
      {},
      'lsblk,mkdir,mount,sh,test,test,umount,growpart,bash,bash,bash,mount,xfs_growfs,mkdir,sh,fsfreeze,umount',
    ],
    ['image/choose', { image: { file: '/a.raw', sha256: 'a'.repeat(64) } }, 'od,stat,sha256sum'],
    [
      'image/choose',
      { image: { stream: '/s.json', nodeImage: 'q.example/n' } },
      'uname,skopeo,uname',
    ],
    ['finish/leave-host', {}, 'shutdown,systemctl stop'],
  ])('shows every command of %s', (id, turn, programs) => {
    const config = cornerOf('master', turn);
    const plan = describeRole(chooseRole(config), config);
    const commands = stepsOf(plan).find((step) => step.id === id)?.commands ?? [];
    expect(commands.map(shortOf).join(',')).toBe(programs);
  });

  it('lets go of the node image of the live system', () => {
    const config = cornerOf('worker', { image: { existingRoot: 'registry.example/os:1' } });
    const plan = describeRole(chooseRole(config), config);
    expect(stepsOf(plan).flatMap(({ commands }) => commands)).toContainEqual([
      'ostree',
      'refs',
      '--repo',
      '/ostree/repo',
      '--delete',
      'coreos/node-image',
    ]);
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

  it('does so in turn where that is asked for', () => {
    const config = cornerOf('bootstrap', { bootstrap: { lanes: 'in-turn' } });
    expect(lanesOf(config)).toEqual([]);
    const ids = activeIds(describeRole(chooseRole(config), config));
    const order = ['bootstrap/start-services', 'image/write', 'cluster/wait-for-masters'];
    expect(ids.filter((id) => order.includes(id))).toEqual(order);
  });

  it('checks that its disk will boot before it leaves', () => {
    const config = cornerOf('bootstrap', {});
    const ids = activeIds(describeRole(chooseRole(config), config));
    expect(ids.slice(ids.indexOf('disk/check-boot'))).toEqual([
      'disk/check-boot',
      'logs/announce',
      'logs/upload',
      'finish/find-ironic',
      'logs/keep-unreported',
      'finish/leave-host',
    ]);
  });
});

describe('operating systems that are built', () => {
  const planOf = (kind: 'bootstrap' | 'single node', turn: ConfigInput): Plan => {
    const config = cornerOf(kind, turn);
    return describeRole(chooseRole(config), config);
  };
  const layeringIn = (plan: Plan): readonly string[] =>
    activeIds(plan).filter((id) => id.startsWith('layering/'));

  it.each([
    ['where that is not wanted', { layering: { mode: 'off' as const } }],
    ['of a release that cannot take them over', { cluster: { openshiftVersion: '4.18.20' } }],
  ])('are no part of a plan %s', (...[, turn]) => {
    expect(layeringIn(planOf('bootstrap', turn))).toEqual([]);
    expect(layeringIn(planOf('single node', turn))).toEqual([]);
  });

  it('come with a reason for the way in which nodes come to them', () => {
    const plan = planOf('bootstrap', { cluster: { openshiftVersion: '4.21.0' } });
    const first = stepsOf(plan).find(({ id }) => id === 'layering/read-os-configs');
    expect(first?.explanation).toMatch(/^OpenShift 4\.21\.0: .*and boot into it$/);
  });

  it('are served before any master is let go, and handed over before this host has its own', () => {
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

describe('the role of the only control-plane node', () => {
  it.each(['bootstrap', 'master'] as const)('is that of a single node, asked for as %s', (role) => {
    const config = { ...cornerOf('single node', {}), role };
    expect(chooseRole(config).name).toBe('single-node');
  });

  it('never asks a cluster', () => {
    const config = cornerOf('single node', {});
    const uses = stepsOf(describeRole(chooseRole(config), config)).flatMap((step) => step.uses);
    expect(uses).not.toContain('kube');
  });
});
