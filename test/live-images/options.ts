import type { Package } from './generations.ts';

/** Names, and the oldest version in which they were found; an older one was not looked at. */
type Found = Readonly<Record<string, string>>;

/** What a program takes. */
export interface KnownProgram {
  /** What it comes with; undefined where no supported live image differs in what we use. */
  readonly from?: Package;
  readonly options: Found;
  /** Options whose value is the next argument. */
  readonly withValue?: readonly string[];
  /** Values of options, or of operands such as `oflag=`, that are looked up by themselves. */
  readonly values?: Readonly<Record<string, Found>>;
  /** What follows the first operand belongs to another program. */
  readonly endsAtOperand?: true;
}

const all = (version: string, ...names: readonly string[]): Found =>
  Object.fromEntries(names.map((name) => [name, version]));

const plain = (...options: readonly string[]): KnownProgram => ({ options: all('0', ...options) });
const utilLinux = (...options: readonly string[]): KnownProgram => ({
  from: 'util-linux',
  options: all('2.32.1', ...options),
});
const coreutils = (...options: readonly string[]): KnownProgram => ({
  from: 'coreutils',
  options: all('8.30', ...options),
});
const systemctl = (...options: readonly string[]): KnownProgram => ({
  from: 'systemd',
  options: all('239', ...options),
  withValue: ['--property'],
});
const lvm2 = (...options: readonly string[]): KnownProgram => ({
  from: 'lvm2',
  options: all('2.03.08', ...options),
  withValue: ['-o', '--activate'],
});

// podman build takes these before its subcommand.
const podmanStore = all('1.9.3', '--root', '--runroot', '--storage-driver');
const podmanStoreValues = ['--root', '--runroot', '--storage-driver'];
const podman = (options: Found, withValue: readonly string[] = []): KnownProgram => ({
  from: 'podman',
  options: { ...podmanStore, ...options },
  withValue: [...podmanStoreValues, ...withValue],
});
const skopeo = (options: Found, withValue: readonly string[]): KnownProgram => ({
  from: 'skopeo',
  options,
  withValue,
});

/** Columns of lsblk in 2.32.1, those among them that could be asked for. */
const lsblkColumns: Found = {
  ...all('2.32.1', 'NAME', 'KNAME', 'PKNAME', 'MAJ:MIN', 'FSTYPE', 'MOUNTPOINT', 'LABEL', 'UUID'),
  ...all('2.32.1', 'PARTTYPE', 'PARTLABEL', 'PARTUUID', 'RO', 'RM', 'ROTA', 'MODEL', 'SERIAL'),
  ...all('2.32.1', 'SIZE', 'STATE', 'LOG-SEC', 'PHY-SEC', 'TYPE', 'WWN', 'TRAN', 'VENDOR'),
  ...all('2.32.1', 'HCTL'),
  ...all('2.33', 'PATH', 'PTTYPE', 'PTUUID'),
  ...all('2.37', 'MOUNTPOINTS'),
  ...all('2.39', 'PARTN'),
};

/**
 * Options of what an installation runs, by program and subcommand. Looked up in the programs' own
 * sources at the tags of these versions: util-linux, coreos-installer, efibootmgr, mdadm, lvm2,
 * podman, skopeo, ostree-rs-ext, cloud-utils; in NEWS of coreutils and systemd, and in
 * systemctl(1).
 */
export const knownPrograms: Readonly<Record<string, KnownProgram>> = {
  lsblk: {
    ...utilLinux('--all', '--bytes', '--json', '--output'),
    withValue: ['--output'],
    values: { '--output': lsblkColumns },
  },
  wipefs: {
    ...utilLinux('--all', '--force', '--no-act', '--noheadings', '--output'),
    withValue: ['--output'],
    values: { '--output': all('2.32.1', 'TYPE', 'OFFSET') },
  },
  blockdev: utilLinux('--rereadpt'),
  sfdisk: utilLinux('--json'),
  fsfreeze: utilLinux('--freeze', '--unfreeze'),
  mount: { ...utilLinux('-o'), withValue: ['-o'] },
  umount: { from: 'util-linux', options: { '--recursive': '2.32.1', '--quiet': '2.33' } },

  dd: {
    ...coreutils(),
    values: {
      oflag: all('8.30', 'seek_bytes', 'direct', 'nofollow'),
      conv: all('8.30', 'fsync', 'nocreat', 'notrunc'),
      status: all('8.30', 'none'),
    },
  },
  cat: coreutils(),
  cp: coreutils('--recursive', '--dereference'),
  df: coreutils('--block-size', '--human-readable', '--output'),
  du: coreutils('-sb'),
  install: { ...coreutils('--directory', '--mode', '-m', '-D'), withValue: ['--mode', '-m'] },
  ls: coreutils('--recursive', '-1', '-l', '-1A'),
  mkdir: coreutils('-p'),
  mv: coreutils('--force', '-T'),
  od: coreutils(
    ...['--address-radix', '--format', '--output-duplicates', '--read-bytes', '--skip-bytes'],
    '--width',
  ),
  realpath: coreutils('--canonicalize-existing'),
  rm: coreutils('--force', '--one-file-system', '--recursive', '-f'),
  sha256sum: coreutils(),
  stat: coreutils('--dereference', '--format'),
  sync: coreutils('--file-system'),
  test: coreutils('-d', '-f', '-x'),
  touch: coreutils(),
  uname: coreutils('-m'),

  'update-ca-trust': { options: {} },
  // `--offline` is of NetworkManager 1.40 (RHEL 8.7); an older one is not asked.
  'nmcli modify': { options: { '--offline': '1.40' } },
  // Generations without it end with network.no-nmstatectl.
  'nmstatectl gc': { options: {} },

  'systemctl daemon-reload': systemctl(),
  'systemctl list-units': systemctl('--no-legend'),
  'systemctl reset-failed': systemctl(),
  'systemctl restart': systemctl(),
  'systemctl show': {
    ...systemctl('--property', '--value'),
    options: { ...all('239', '--property', '--value'), '-P': '246' },
  },
  'systemctl start': systemctl('--no-block'),
  'systemctl status': systemctl(),
  'systemctl stop': systemctl(),
  'systemd-run': {
    from: 'systemd',
    options: { ...all('239', '--collect', '--unit'), '--path-property': '252' },
    endsAtOperand: true,
  },
  busctl: { from: 'systemd', options: all('239', '--match', '--system') },
  hostnamectl: systemctl(),
  journalctl: systemctl('--lines', '--no-pager', '--output', '--unit'),
  shutdown: systemctl('-r'),
  udevadm: systemctl('--timeout'),

  dmsetup: lvm2('--retry'),
  mdadm: { from: 'mdadm', options: all('4.1', '--stop', '--zero-superblock') },
  efibootmgr: {
    from: 'efibootmgr',
    options: all(
      '16',
      ...['--bootnum', '--bootorder', '--delete-bootnum', '-L', '-c', '-d', '-l', '-p', '-v'],
    ),
    withValue: ['--bootnum', '--bootorder', '-L', '-d', '-l', '-p'],
  },
  'coreos-installer install': {
    from: 'coreos-installer',
    options: {
      ...all('0.1.0', '--image-file', '--image-url', '--insecure', '-i'),
      ...all('0.2.0', '--copy-network', '--network-dir', '--offline'),
      ...all('0.3.0', '--append-karg', '--delete-karg'),
      ...all('0.5.0', '--save-partlabel', '--save-partindex'),
      '--config-file': '0.12.0',
      '--console': '0.16.0',
    },
    withValue: ['--image-file', '--image-url', '-i', '--append-karg', '--save-partlabel'],
  },

  'podman run': {
    ...podman(
      all(
        '1.9.3',
        ...['--authfile', '--detach', '--entrypoint', '--env', '--http-proxy', '--log-driver'],
        ...['--name', '--net', '--pid', '--privileged', '--quiet', '--replace', '--restart'],
        ...['--rm', '--security-opt', '--user', '--volume', '-v'],
      ),
      [
        ...['--authfile', '--entrypoint', '--log-driver', '--name', '--net', '--restart'],
        ...['--security-opt', '--user', '--volume', '-v'],
      ],
    ),
    endsAtOperand: true,
  },
  'podman rm': podman({ '--force': '1.9.3', '--ignore': '1.9.3', '--time': '4.0.2' }, ['--time']),
  'podman build': podman(
    {
      ...all('1.9.3', '--layers', '--format', '--network', '--security-opt', '--authfile'),
      ...all('1.9.3', '--cert-dir', '--tag', '--file'),
      // With a policy as its value.
      '--pull': '4.2.0',
    },
    ['--format', '--network', '--security-opt', '--authfile', '--cert-dir', '--tag', '--file'],
  ),
  'podman push': podman(
    { ...all('1.9.3', '--quiet', '--digestfile', '--authfile'), '--cert-dir': '2.0.0' },
    ['--digestfile', '--authfile', '--cert-dir'],
  ),
  'podman --version': podman({}),
  'podman start': podman({}),
  'podman rmi': podman(all('1.9.3', '--force')),
  'podman images': podman(all('1.9.3', '--digests')),
  'podman info': podman({}),
  'podman ps': podman(all('1.9.3', '--all')),
  'skopeo copy': skopeo(
    {
      ...all('1.1.1', '--quiet', '--src-authfile', '--src-cert-dir', '--dest-authfile'),
      '--dest-cert-dir': '1.1.1',
      '--preserve-digests': '1.6.0',
    },
    ['--src-authfile', '--src-cert-dir', '--dest-authfile', '--dest-cert-dir'],
  ),
  'skopeo inspect': skopeo(
    {
      ...all('1.1.1', '--authfile', '--cert-dir', '--config', '--format', '--raw'),
      '--no-tags': '1.6.0',
    },
    ['--authfile', '--cert-dir', '--format'],
  ),

  // The versions of rpm-ostree are the first with the ostree-ext that was looked into.
  'ostree container': {
    from: 'rpm-ostree',
    options: {
      ...all('2021.14', '--authfile', '--imgref', '--karg', '--stateroot', '--sysroot'),
      ...all('2021.14', '--target-imgref'),
      '--cert-dir': '2022.1',
      '--image': '2023.11',
    },
    withValue: [
      ...['--authfile', '--cert-dir', '--image', '--imgref', '--karg', '--stateroot'],
      ...['--sysroot', '--target-imgref'],
    ],
  },
  'rpm-ostree kargs': {
    from: 'rpm-ostree',
    options: all('2021.14', '--append', '--delete-if-present', '--os'),
    withValue: ['--append', '--delete-if-present', '--os'],
  },
  'ostree admin': plain('--sysroot'),
  'ostree refs': { ...plain('--repo', '--delete'), withValue: ['--repo'] },

  bash: { ...plain('-c'), endsAtOperand: true },
  sh: { ...plain('-c'), endsAtOperand: true },
  bootlist: { ...plain('-m', '-o'), withValue: ['-m'] },
  buildah: plain('--version'),
  cmp: plain(),
  curl: {
    ...plain(
      ...['--cacert', '--config', '--max-time', '--noproxy', '--output', '--silent'],
      '--write-out',
    ),
    withValue: ['--cacert', '--config', '--max-time', '--noproxy', '--output', '--write-out'],
  },
  find: { ...plain('-L', '-name'), endsAtOperand: true },
  free: plain('--mebi'),
  getenforce: plain(),
  grep: {
    ...plain('--files-with-matches', '--fixed-strings', '--no-messages', '--recursive', '-e'),
    withValue: ['-e'],
  },
  growpart: { from: 'cloud-utils-growpart', options: { '--free-percent': '0.33' } },
  ip: plain('-json'),
  openssl: { ...plain(), endsAtOperand: true },
  rsync: plain('-av'),
  setenforce: plain(),
  'ssh-keygen': { ...plain('-N', '-f', '-q'), withValue: ['-N', '-f'] },
  xfs_growfs: plain(),
};
