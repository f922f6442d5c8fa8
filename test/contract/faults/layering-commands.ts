import { alike, type CommandRow, ends, goesOn, needed, wanted, warns } from './commands.ts';

/** Steps that ask the registry of the host before they work with it. */
const withRegistry = (...commands: readonly string[]): CommandRow['where'] => ({
  'layering/build-images': commands,
  'layering/copy-base': commands,
  'layering/publish-images': commands,
  'layering/send-base': commands,
});

/** What lays an operating system over a written disk, in whatever step. */
const overlaid = [
  ...['fsfreeze --freeze', 'fsfreeze --unfreeze', 'growpart', 'mount', 'setenforce', 'umount'],
  'xfs_growfs',
];

/** What is gathered for the logs: each that cannot be had is left out. */
const gathered = [
  ...['buildah', 'df', 'find', 'free', 'journalctl', 'ls', 'ostree admin status'],
  ...['podman images', 'podman info', 'podman ps'],
];

/** Commands that lay an operating system over a written disk, and of the steps that build one and hand it over. */
export const layeringCommands: readonly CommandRow[] = [
  {
    where: {
      'layering/build-images': ['mkdir', 'skopeo inspect --raw'],
      'layering/find-worker-image': ['install'],
      'layering/hold-config-server': ['systemd-run'],
      'layering/release-config-server': ['mv', 'systemctl stop'],
      'layering/serve-images': ['install', 'systemd-run'],
      'layering/start-registry': [
        ...['cp', 'fsfreeze --unfreeze', 'growpart', 'install', 'mkdir', 'mount'],
        ...['openssl ca', 'openssl req', 'xfs_growfs'],
      ],
      'layering/stash-os-configs': ['install'],
      'layering/stop-registry': ['podman rm', 'rm', 'sync', 'umount'],
    },
    endings: needed(1),
  },
  { where: withRegistry('install', 'podman start'), endings: needed(1) },
  {
    where: { ...withRegistry('curl'), 'layering/start-registry': ['curl'] },
    endings: needed(1, { garbage: ends('wait.timed-out', 1, 'it answers') }),
  },
  {
    where: {
      'layering/overlay-worker-config': ['lsblk'],
      'layering/start-registry': ['lsblk'],
      'layering/stop-registry': ['lsblk'],
    },
    endings: needed(1, { garbage: ends('disk.unreadable') }),
  },
  {
    where: {
      'layering/copy-base': ['uname'],
      'layering/find-worker-image': ['uname'],
      'layering/start-registry': ['df', 'podman run'],
    },
    endings: needed(1, { garbage: ends('command.unreadable') }),
  },
  {
    // systemd-run refuses a unit that is there already.
    where: {
      'layering/hold-config-server': ['systemctl show'],
      'layering/serve-images': ['systemctl show'],
    },
    endings: alike(goesOn, { missing: ends('command.not-found') }),
  },
  {
    where: {
      'layering/copy-base': ['skopeo copy'],
      'layering/publish-images': ['skopeo copy'],
      'layering/send-base': ['skopeo copy'],
    },
    endings: needed(1, { fails: ends('layering.copy-failed') }),
  },
  {
    where: {
      'layering/copy-base': ['skopeo inspect --format', 'skopeo inspect --raw'],
      'layering/publish-images': ['skopeo inspect --format'],
      'layering/send-base': ['skopeo inspect --format'],
    },
    endings: needed(1, {
      fails: ends('layering.copy-failed'),
      garbage: ends('command.unreadable'),
    }),
  },
  {
    where: { 'layering/copy-base': ['skopeo inspect --config'] },
    endings: needed(1, {
      fails: ends('layering.copy-failed'),
      garbage: ends('layering.image-unreadable'),
    }),
  },
  {
    where: { 'layering/build-images': ['skopeo inspect --config'] },
    endings: needed(1, {
      fails: ends('layering.image-unreadable'),
      garbage: ends('layering.image-unreadable'),
    }),
  },
  {
    where: { 'layering/find-worker-image': ['skopeo inspect --config'] },
    endings: needed(1, { garbage: ends('layering.image-unreadable') }),
  },
  {
    // Until an image is there, registries say all sorts of things.
    where: { 'layering/find-worker-image': ['skopeo inspect --format'] },
    endings: needed(1, { garbage: ends('wait.timed-out', 1, 'the registry answers') }),
  },
  {
    // podman builds by the same library.
    where: { 'layering/build-images': ['buildah --version'] },
    endings: needed(1, { missing: goesOn }),
  },
  {
    where: { 'layering/build-images': ['podman --version'] },
    endings: needed(1, { missing: ends('layering.no-builder') }),
  },
  {
    where: { 'layering/build-images': ['podman build'] },
    endings: needed(1, {
      fails: ends('layering.build-failed'),
      hangs: ends('layering.build-too-long', 1, 'did not end within 30 min'),
      garbage: ends('layering.image-unreadable', 1, 'the content of'),
    }),
  },
  {
    where: { 'layering/build-images': ['podman push'] },
    endings: needed(1, { fails: ends('layering.push-failed') }),
  },
  {
    where: { 'layering/build-images': ['skopeo inspect --format'] },
    endings: needed(1, {
      fails: ends('layering.push-failed'),
      garbage: ends('command.unreadable'),
    }),
  },
  {
    where: { 'layering/stop-registry': ['find', 'grep'] },
    endings: needed(1, { garbage: ends('layering.staging-left', 1, 'refer to 127.0.0.1') }),
  },
  {
    where: {
      'layering/overlay-worker-config': [
        ...['cmp', 'fsfreeze --freeze', 'fsfreeze --unfreeze', 'install', 'mount', 'mv', 'sync'],
        'umount',
      ],
    },
    endings: alike(ends('wait.timed-out'), { garbage: goesOn }),
  },
  {
    where: { 'image/overwrite-os': overlaid, 'layering/deploy-own': ['sync'] },
    alike: { 'layering/deploy-own': overlaid, 'layering/deploy-worker-image': overlaid },
    endings: alike(warns('wait.timed-out'), { garbage: goesOn }),
  },
  {
    where: { 'image/overwrite-os': ['getenforce'] },
    alike: {
      'layering/deploy-own': ['getenforce'],
      'layering/deploy-worker-image': ['getenforce'],
    },
    endings: wanted({ missing: goesOn, garbage: warns('command.unreadable') }),
  },
  {
    where: {
      'image/overwrite-os': ['ostree container image deploy'],
      'layering/deploy-own': ['ostree container image deploy'],
      'layering/deploy-worker-image': ['ostree container image deploy'],
    },
    endings: wanted({ fails: warns('image.deploy-failed') }),
  },
  {
    where: { 'layering/deploy-worker-image': ['cat', 'uname'] },
    alike: { 'layering/deploy-own': ['cat', 'uname'] },
    endings: wanted({ garbage: warns('command.unreadable') }),
  },
  {
    where: { 'layering/deploy-worker-image': ['lsblk'] },
    alike: { 'layering/deploy-own': ['lsblk'] },
    endings: wanted({ garbage: warns('disk.unreadable') }),
  },
  {
    // A disk that may follow the registry of this host must not be booted.
    where: { 'layering/deploy-own': ['find'] },
    endings: wanted({
      fails: warns('image.deploy-failed'),
      garbage: ends('image.wrong-origin', 1, 'would update from nothing'),
    }),
  },
  {
    where: { 'layering/gather-logs': ['cp', 'install'], 'layering/hand-over': ['install'] },
    alike: { 'layering/gather-logs-at-the-end': ['cp', 'install'] },
    endings: wanted(),
  },
  {
    where: { 'layering/build-images': ['podman rmi'], 'layering/gather-logs': gathered },
    alike: { 'layering/gather-logs-at-the-end': gathered },
    endings: alike(goesOn),
  },
  {
    where: { 'layering/hand-over': ['skopeo copy'] },
    endings: wanted({
      fails: warns('layering.copy-failed'),
      hangs: warns('layering.registry-unreachable', 'not within 5 min'),
    }),
  },
  {
    where: { 'layering/hand-over': ['skopeo inspect --format'] },
    endings: wanted({
      fails: warns('layering.copy-failed'),
      garbage: warns('command.unreadable'),
    }),
  },
];
