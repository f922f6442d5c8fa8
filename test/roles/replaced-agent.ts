// The commands of assisted-installer in the role bootstrap on a host without registry, by its
// source (openshift/assisted-installer at commit 880389d4): `src/installer/installer.go`,
// `src/ops/ops.go`, and preinstall-utils for the cleaning. Its reads of files by `cat` are omitted:
// they are not commands here.

/**
 * A command that Bootwright runs differently; `row` is the start of the row of docs/differences.md
 * with the reason.
 */
interface Dropped {
  readonly argv: string;
  readonly row: string;
}

/** Commands in their order; commands of other phases may come between them. */
export type Phase = readonly (string | Dropped)[];

const commandWaits = 'waits ask by a command';
const namesInCleanup = 'cleanup matches parts of names';
const forcedWipe = '`wipefs --all --force`';
const reboot = 'the reboot waits a minute';
const mkdirManifests = 'mkdir -p /opt/openshift/manifests';
const logsSender = (token: { readonly podman: string; readonly own: string }): string =>
  `podman run --rm --privileged --net=host --pid=host${token.podman} -v /run/systemd/journal/socket:/run/systemd/journal/socket -v /var/log:/var/log registry.example/agent:1 logs_sender -cluster-id C -url http://inventory.example -host-id H -infra-env-id I${token.own} -insecure=false -bootstrap=true`;

/**
 * The Go agent cleans first; here the cleaning follows all inputs, right before the write (ADR
 * 0052).
 */
const cleaning: Phase = [
  { argv: 'vgs --noheadings -o vg_name,pv_name', row: namesInCleanup },
  { argv: 'pvs --noheadings -o pv_name', row: namesInCleanup },
  { argv: 'dmsetup ls', row: namesInCleanup },
  { argv: 'mdadm -v --query --detail --scan', row: namesInCleanup },
  { argv: 'wipefs --all --force /dev/sda', row: forcedWipe },
];
const preparing: Phase = [
  'mkdir -p /root/.ssh',
  'mkdir -p /root/.docker',
  'mv /opt/extracted_from_ignition.json /root/.docker/config.json',
  'podman run --net host --pid=host --volume /:/rootfs:rw --volume /usr/bin/rpm-ostree:/usr/bin/rpm-ostree --privileged --entrypoint /usr/bin/machine-config-daemon registry.example/mco:1 start --node-name localhost --root-mount /rootfs --once-from /opt/install-dir/bootstrap.ign --skip-reboot',
];
const starting: Phase = [
  'stat /usr/bin/oc',
  mkdirManifests,
  'systemctl start bootkube.service',
  'systemctl start approve-csr.service',
  'systemctl start progress.service',
];
const writing = (ignition: string): Phase => [
  `coreos-installer install --insecure -i ${ignition} /dev/sda`,
  'test -f /usr/sbin/bootlist',
  'test -d /sys/firmware/efi',
  { argv: 'lsblk --bytes --json /dev/sda', row: '`lsblk --bytes --json DISK`' },
  'mount /dev/sda2 /mnt',
  'ls -1 /mnt/EFI',
  'umount /mnt',
  'efibootmgr -v -d /dev/sda -p 2 -c -L Red Hat Enterprise Linux -l \\EFI\\redhat\\shimx64.efi',
  'efibootmgr -l \\EFI\\redhat\\shimx64.efi',
  'stat /run/media/iso/registry',
];
const bootkube: Phase = [
  { argv: 'stat /opt/openshift/.bootkube.done', row: commandWaits },
  'systemctl status bootkube.service',
];
const leaving: Phase = [
  {
    argv: logsSender({ podman: '', own: ' -pull-secret-token TOKEN' }),
    row: 'the token is in an argv',
  },
  logsSender({ podman: ' --env=PULL_SECRET_TOKEN', own: '' }),
  'systemctl list-units --no-legend ironic-agent.service',
];
const now = "shutdown -r now 'Installation completed, server is going to reboot.'";

/** The commands of a bootstrap host with two other masters. */
export const bootstrapCommands: Readonly<Record<string, Phase>> = {
  'makes its directory': ['mkdir -p /opt/install-dir'],
  'starts the control plane': [
    ...preparing,
    'ssh-keygen -q -f /root/.ssh/id_rsa -N ',
    'systemctl daemon-reload',
    'systemctl restart NetworkManager.service',
    ...starting,
  ],
  'writes its disk': [...cleaning, ...writing('/opt/install-dir/master-H.ign')],
  'waits and leaves': [
    { argv: 'cat /etc/resolv.conf', row: 'api-int is resolved by a copy' },
    ...bootkube,
    { argv: 'systemctl is-active progress.service', row: commandWaits },
    'systemctl status progress.service',
    ...leaving,
    { argv: now.replace('now', '+1'), row: reboot },
    now,
  ],
};

/** The commands of the only node of a cluster. */
export const singleNodeCommands: typeof bootstrapCommands = {
  'makes its directory': ['mkdir -p /opt/install-dir'],
  'goes one way': [
    ...preparing,
    'systemctl daemon-reload',
    ...starting,
    ...bootkube,
    'stat /opt/openshift/master.ign',
    ...cleaning,
    ...writing('/opt/openshift/master.ign'),
    ...leaving,
    now,
  ],
};

/** Our additional commands, each with its row in docs/differences.md. */
export const addedCommands: readonly { readonly argv: RegExp; readonly row: string }[] = [
  { argv: /^lsblk --all --bytes --json --output /, row: '`lsblk --bytes --json DISK`' },
  { argv: /^udevadm settle --timeout=30$/, row: 'no checks of the host' },
  { argv: /^wipefs --all --no-act \/dev\/sda$/, row: 'no checks of the host' },
  { argv: /^wipefs --all \/dev\/sda$/, row: forcedWipe },
  {
    argv: /^(busctl --system .* monitor|systemctl show --property=\S+ \S+|journalctl --unit .*)$/,
    row: commandWaits,
  },
  { argv: /^uname -m$/, row: 'the architecture of the binary decides' },
  { argv: /^efibootmgr -v$/, row: 'boot order is set and believed' },
  {
    argv: /^(mkdir|mount|fsfreeze|install|umount) .*\/mnt\/bootwright-root\b/,
    row: 'what the service did not take',
  },
];

/**
 * The requests to the service, by their names in its stand-in; reports of the host's own stages are
 * omitted.
 */
export const serviceRequests: Readonly<Record<'bootstrap' | 'single node', Phase>> = {
  bootstrap: [
    'clusterFile bootstrap.ign',
    'hostIgnition master',
    { argv: 'cluster', row: 'the cluster is asked for twice' },
    'enabledHosts',
    'report Joined',
    'clusterLogsState requested',
    'logsState requested',
  ],
  'single node': ['clusterFile bootstrap.ign', 'hostIgnition master', 'logsState requested'],
};

const first = ['Starting installation', 'bootstrap'] as const;
const written = ['Writing image to disk', ''] as const;
const last = ['Rebooting', ''] as const;

/** The stages with their info texts, in the order in which the service accepts them. */
export const stageTexts: Readonly<
  Record<'bootstrap' | 'single node', readonly (readonly [string, string])[]>
> = {
  bootstrap: [
    first,
    ['Installing', 'master'],
    written,
    ['Waiting for control plane', 'Waiting for bootstrap node preparation'],
    ['Waiting for control plane', 'Waiting for masters to join bootstrap control plane'],
    ['Waiting for bootkube', ''],
    ['Waiting for bootkube', 'waiting for ETCD bootstrap to be complete'],
    ['Waiting for controller', 'waiting for controller pod ready event'],
    last,
  ],
  'single node': [first, ['Installing', 'bootstrap'], ['Waiting for bootkube', ''], written, last],
};
