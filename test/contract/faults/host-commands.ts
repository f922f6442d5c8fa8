import { alike, type CommandRow, ends, goesOn, needed, wanted, warns } from './commands.ts';

/** What other waits of a bootstrap host ask of systemd, to end with a bootkube that failed. */
const besideBootkube = (...commands: readonly string[]): CommandRow['where'] => ({
  'cluster/patch-etcd': commands,
  'cluster/wait-for-arbiter': commands,
  'cluster/wait-for-masters': commands,
  'layering/wait-for-rendered': commands,
});

/** Commands of every step that has no part in building operating systems. */
export const hostCommands: readonly CommandRow[] = [
  {
    where: {
      'bootstrap/add-controller-manifests': ['mkdir'],
      'bootstrap/make-ssh-directory': ['mkdir'],
      'bootstrap/make-ssh-key': ['ssh-keygen'],
      'bootstrap/overlay-node-image': ['stat', 'systemctl reset-failed'],
      'bootstrap/place-pull-secret': ['mkdir', 'mv'],
      'bootstrap/reload-units': ['systemctl daemon-reload'],
      'bootstrap/restart-network': ['systemctl restart'],
      'bootstrap/set-hostname': ['hostnamectl'],
      'bootstrap/start-services': ['systemctl start'],
      'finish/leave-host': ['shutdown', 'systemctl stop'],
      'host/check-hooks': ['test'],
      'host/configure-registries': ['mkdir', 'update-ca-trust'],
      'host/prepare-directories': ['mkdir'],
      'registry/find-media': ['stat'],
    },
    endings: needed(1),
  },
  {
    where: {
      'ignition/merge-single-node': ['stat'],
      'image/deploy-to-existing-root': [
        ...['cp', 'mkdir', 'mount', 'ostree admin finalize-staged'],
        ...['ostree admin stateroot-init install', 'ostree refs', 'rsync', 'stat', 'touch'],
      ],
      'registry/copy': [
        ...['bash: autosave-xfs', 'bash: restore', 'fsfreeze --freeze', 'mkdir', 'mount'],
        ...['sh: fsfreeze', 'sh: rsync', 'test', 'umount', 'xfs_growfs'],
      ],
    },
    endings: needed(3),
  },
  {
    where: { 'image/deploy-to-existing-root': ['ostree container image deploy'] },
    endings: needed(3, { fails: ends('image.deploy-failed', 3) }),
  },
  {
    // It says there that the partition is as large as it can be.
    where: { 'registry/copy': ['growpart'] },
    endings: needed(3, { garbage: ends('registry.not-grown', 3) }),
  },
  {
    where: { 'bootstrap/apply-ignition': ['podman run'] },
    endings: needed(3, { fails: ends('bootstrap.not-applied', 3) }),
  },
  {
    where: { 'bootstrap/overlay-node-image': ['systemctl start'] },
    endings: needed(1, { fails: ends('bootstrap.overlay-failed') }),
  },
  {
    // systemd may be busy or reloading: it is asked again until the wait ends.
    where: {
      'bootstrap/overlay-node-image': ['systemctl show'],
      'cluster/wait-for-bootkube': ['systemctl show'],
    },
    alike: { 'cluster/wait-for-etcd': ['systemctl show'] },
    endings: alike(ends('wait.timed-out'), { missing: ends('command.not-found') }),
  },
  {
    // What is waited for may come about all the same.
    where: {},
    alike: besideBootkube('systemctl show'),
    endings: alike(goesOn, { missing: ends('command.not-found') }),
  },
  {
    // The watch of a unit only shortens a wait, and the status is for people.
    where: {
      ...besideBootkube('busctl'),
      'bootstrap/overlay-node-image': ['busctl'],
      'cluster/wait-for-bootkube': ['busctl', 'systemctl status'],
      'cluster/wait-for-etcd': ['busctl', 'systemctl status'],
    },
    endings: alike(goesOn),
  },
  {
    // The unit has failed, whatever can be read of why.
    where: { 'cluster/wait-for-bootkube': ['journalctl'], 'cluster/wait-for-etcd': ['journalctl'] },
    alike: besideBootkube('journalctl'),
    endings: alike(goesOn),
  },
  {
    // The write has failed by then: the disk is to boot no half of a system.
    where: { 'image/write': ['dd', 'wipefs'] },
    endings: wanted(),
  },
  {
    where: {
      'disk/check': ['lsblk'],
      'disk/format-extra': ['lsblk'],
      'disk/resolve': ['lsblk'],
      'registry/plan-growth': ['lsblk'],
    },
    endings: needed(1, { garbage: ends('disk.unreadable') }),
  },
  {
    // Only where partitions are kept.
    where: { 'disk/check': ['sfdisk'], 'disk/resolve': ['sfdisk'] },
    endings: needed(1, { garbage: ends('command.unreadable') }),
  },
  {
    where: { 'image/write': ['sfdisk'] },
    endings: needed(3, { garbage: ends('command.unreadable', 3) }),
  },
  {
    where: { 'image/write': ['lsblk'], 'registry/copy': ['lsblk'] },
    endings: needed(3, { garbage: ends('disk.unreadable', 3) }),
  },
  {
    where: {
      'disk/check-boot': ['efibootmgr -v'],
      'disk/set-boot-entry': ['efibootmgr -v', 'uname'],
      'finish/find-ironic': ['systemctl list-units'],
      'image/choose': ['skopeo inspect --config'],
      'image/overwrite-os': ['cat', 'uname'],
      'cluster/leave-record': ['ip'],
    },
    endings: wanted({ garbage: warns('command.unreadable') }),
  },
  {
    where: {
      'disk/check-boot': ['test'],
      'disk/set-boot-entry': ['bootlist', 'test'],
      'logs/keep-unreported': ['install', 'mkdir', 'mount', 'sh: fsfreeze', 'umount'],
      'logs/upload': ['podman run'],
      'registry/copy': ['bash: cleanup'],
    },
    endings: wanted(),
  },
  {
    where: {
      'disk/check-boot': ['lsblk'],
      'image/overwrite-os': ['lsblk'],
      'logs/keep-unreported': ['lsblk'],
    },
    endings: wanted({ garbage: warns('disk.unreadable') }),
  },
  { where: { 'disk/clean': ['lsblk'] }, endings: alike(warns()) },
  {
    // A live system without LVM has nothing of its kind running.
    where: { 'disk/clean': ['pvremove', 'vgchange', 'vgremove'] },
    endings: alike(warns(), { missing: goesOn, garbage: goesOn }),
  },
  { where: { 'disk/clean': ['pvs', 'vgs'] }, endings: alike(warns(), { missing: goesOn }) },
  {
    where: { 'disk/clean': ['dmsetup remove', 'mdadm --stop', 'wipefs'] },
    endings: alike(warns(), { garbage: goesOn }),
  },
  {
    // What came of it is looked at afterwards.
    where: {
      'disk/check': ['wipefs'],
      'disk/clean': ['mdadm --zero-superblock', 'udevadm'],
      'disk/format-extra': ['blockdev', 'dd', 'dmsetup remove', 'udevadm'],
      'disk/set-boot-entry': ['efibootmgr -l'],
    },
    endings: alike(goesOn),
  },
  {
    where: { 'disk/format-extra': ['wipefs'] },
    endings: wanted({ garbage: warns('disk.not-formatted') }),
  },
  {
    where: { 'disk/set-boot-entry': ['mount', 'umount'] },
    endings: alike(warns('wait.timed-out'), { garbage: goesOn }),
  },
  { where: { 'disk/set-boot-entry': ['lsblk'] }, endings: alike(warns('wait.timed-out')) },
  {
    where: { 'disk/set-boot-entry': ['ls'] },
    endings: alike(warns('wait.timed-out'), {
      garbage: warns('boot.no-loader', 'has no boot loader'),
    }),
  },
  {
    where: { 'disk/set-boot-entry': ['efibootmgr -c'] },
    endings: alike(warns('boot.not-set'), { garbage: goesOn }),
  },
  {
    where: { 'disk/set-boot-entry': ['efibootmgr --bootorder'] },
    endings: alike(warns('boot.order-ignored', 'the boot order of the firmware is'), {
      garbage: goesOn,
    }),
  },
  {
    // The entry of an earlier installation stays.
    where: { 'disk/set-boot-entry': ['efibootmgr --delete-bootnum'] },
    endings: alike(warns(undefined, 'points to nothing on this host'), { garbage: goesOn }),
  },
  {
    where: { 'host/check-hooks': ['od'], 'image/choose': ['od', 'sha256sum', 'uname'] },
    endings: needed(1, { garbage: ends('command.unreadable') }),
  },
  {
    where: {
      'host/run-after-hook': ['/opt/hooks/after'],
      'host/run-before-hook': ['/opt/hooks/before'],
    },
    endings: needed(1, {
      missing: ends('hook.failed'),
      fails: ends('hook.failed'),
      hangs: ends('hook.timed-out'),
    }),
  },
  {
    where: { 'image/check-inputs': ['install'] },
    endings: needed(3),
  },
  {
    where: { 'image/choose': ['nmcli'] },
    endings: needed(1, { missing: warns() }),
  },
  {
    // The step that chose the image has said that nmcli is missing.
    where: { 'image/check-inputs': ['nmcli'] },
    endings: needed(3, { missing: goesOn }),
  },
  {
    where: { 'image/check-inputs': ['nmstatectl'] },
    endings: needed(1, {
      missing: ends('network.no-nmstatectl'),
      fails: ends('network.bad-nmstate'),
      garbage: ends('network.bad-nmstate'),
    }),
  },
  {
    where: { 'image/choose': ['nmstatectl'] },
    endings: needed(1, {
      missing: ends('network.no-nmstatectl'),
      fails: ends('network.bad-nmstate'),
      garbage: ends('network.bad-nmstate'),
    }),
  },
  {
    where: { 'image/check-inputs': ['skopeo inspect'] },
    endings: needed(3, { garbage: ends('os.image-unreachable', 3) }),
  },
  {
    where: { 'image/write': ['sha256sum', 'uname'] },
    endings: needed(3, { garbage: ends('command.unreadable', 3) }),
  },
  {
    where: { 'image/deploy-to-existing-root': ['rpm-ostree kargs'] },
    endings: needed(3, { garbage: ends('command.unreadable', 3) }),
  },
  {
    where: { 'image/write': ['coreos-installer'] },
    endings: needed(3, {
      fails: ends('image.writer-failed', 3),
      hangs: ends('image.stalled', 1, 'no progress for 30 min'),
    }),
  },
  {
    where: { 'registry/plan-growth': ['du'] },
    endings: needed(1, { garbage: ends('registry.unreadable') }),
  },
];
