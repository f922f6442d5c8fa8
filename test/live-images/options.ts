import type { Package } from './generations.ts';

// podman build takes these before its subcommand.
const podmanStore = '--root= --runroot= --storage-driver=';

/**
 * Options of the commands of an installation, by program and subcommand. An option with `=` may
 * have its value in the next argument; `…` marks that the first operand and all later words belong
 * to another program. Source: the programs' own sources at the tags of the oldest supported live
 * image: util-linux, coreos-installer, efibootmgr, mdadm, lvm2, podman, skopeo, ostree-rs-ext,
 * cloud-utils; NEWS of coreutils and systemd; systemctl(1).
 */
export const knownOptions: Readonly<Record<string, string>> = {
  lsblk: '--all --bytes --json --output=',
  wipefs: '--all --force --no-act --noheadings --output=',
  blockdev: '--rereadpt',
  sfdisk: '--json',
  fsfreeze: '--freeze --unfreeze',
  mount: '-o=',
  umount: '--recursive --quiet',
  dd: '',
  cat: '',
  cp: '--recursive --dereference',
  df: '--block-size --human-readable --output',
  du: '-sb',
  install: '--directory --mode= -m= -D',
  ls: '--recursive -1 -l -1A',
  mkdir: '-p',
  mv: '--force -T',
  od: '--address-radix --format --output-duplicates --read-bytes --skip-bytes --width',
  realpath: '--canonicalize-existing',
  rm: '--force --one-file-system --recursive -f',
  sha256sum: '',
  stat: '--dereference --format',
  sync: '--file-system',
  test: '-d -f -x',
  touch: '',
  uname: '-m',
  'update-ca-trust': '',
  'nmcli modify': '--offline',
  'nmstatectl gc': '',
  'systemctl daemon-reload': '',
  'systemctl list-units': '--no-legend',
  'systemctl reset-failed': '',
  'systemctl restart': '',
  'systemctl show': '--property= --value -P',
  'systemctl start': '--no-block',
  'systemctl status': '',
  'systemctl stop': '',
  'systemd-run': '--collect --unit --path-property …',
  busctl: '--match --system',
  hostnamectl: '',
  journalctl: '--lines --no-pager --output --unit',
  shutdown: '-r',
  udevadm: '--timeout',
  dmsetup: '--retry',
  mdadm: '--stop --zero-superblock',
  efibootmgr: '--bootnum= --bootorder= --delete-bootnum -L= -c -d= -l= -p= -v',
  'coreos-installer install': [
    '--image-file= --image-url= --insecure -i= --copy-network --network-dir --offline',
    '--append-karg= --delete-karg --save-partlabel= --save-partindex --config-file',
    '--console',
  ].join(' '),
  'podman run': [
    podmanStore,
    '--authfile= --detach --entrypoint= --env --http-proxy --log-driver= --name=',
    '--net= --pid --privileged --quiet --replace --restart= --rm --security-opt=',
    '--user= --volume= -v= …',
  ].join(' '),
  'podman rm': `${podmanStore} --force --ignore --time=`,
  'podman build': [
    podmanStore,
    '--layers --format= --network= --security-opt= --authfile= --cert-dir= --tag=',
    '--file= --pull',
  ].join(' '),
  'podman push': `${podmanStore} --quiet --digestfile= --authfile= --cert-dir=`,
  'podman --version': podmanStore,
  'podman start': podmanStore,
  'podman rmi': `${podmanStore} --force`,
  'podman images': `${podmanStore} --digests`,
  'podman info': podmanStore,
  'podman ps': `${podmanStore} --all`,
  'skopeo copy': [
    '--quiet --src-authfile= --src-cert-dir= --dest-authfile= --dest-cert-dir=',
    '--preserve-digests',
  ].join(' '),
  'skopeo inspect': '--authfile= --cert-dir= --config --format= --raw --no-tags',
  'ostree container': [
    '--authfile= --imgref= --karg= --stateroot= --sysroot= --target-imgref=',
    '--cert-dir= --image=',
  ].join(' '),
  'rpm-ostree kargs': '--append= --delete-if-present= --os=',
  'ostree admin': '--sysroot',
  'ostree refs': '--repo= --delete',
  bash: '-c …',
  sh: '-c …',
  bootlist: '-m= -o',
  buildah: '--version',
  cmp: '',
  curl: '--cacert= --config= --max-time= --noproxy= --output= --silent --write-out=',
  find: '-L -name …',
  free: '--mebi',
  getenforce: '',
  grep: '--files-with-matches --fixed-strings --no-messages --recursive -e=',
  growpart: '--free-percent',
  ip: '-json',
  openssl: '…',
  rsync: '-av',
  setenforce: '',
  'ssh-keygen': '-N= -f= -q',
  xfs_growfs: '',
};

/** Values of options, or of operands such as `oflag=`, that are checked separately. */
export const knownValues: Readonly<Record<string, string>> = {
  'lsblk --output': [
    'NAME KNAME MAJ:MIN TYPE SIZE LOG-SEC RO MOUNTPOINTS FSTYPE LABEL PARTLABEL PARTTYPE PARTUUID',
    'SERIAL WWN MODEL VENDOR HCTL ROTA UUID TRAN STATE',
  ].join(' '),
  'wipefs --output': 'TYPE OFFSET',
  'dd oflag': 'seek_bytes direct nofollow',
  'dd conv': 'fsync nocreat notrunc',
  'dd status': 'none',
};

/** Options that are newer than the oldest live image, with the first version that has them. */
export const newerOptions: Readonly<Record<string, readonly [Package, string]>> = {
  'coreos-installer install --console': ['coreos-installer', '0.16.0'],
  // The first version of rpm-ostree with the checked version of ostree-ext.
  'ostree container --image': ['rpm-ostree', '2023.11'],
};
