import { alike, type CommandRow, ends, goesOn, needed, wanted, warns } from './commands.ts';

/**
 * Commands of the agent of a node, in a change that runs them all. What ends there is a try: the node is `Degraded` with that code,
 * and a later try continues where this one stopped.
 */
export const agentCommands: readonly CommandRow[] = [
  {
    where: {
      'node-agent/keep-node': [
        ...['rpm-ostree rebase', 'mkdir', 'chown', 'cp', 'mv', 'usermod'],
        ...['systemctl daemon-reload', 'systemctl enable', 'systemctl reenable'],
        ...['systemctl disable', 'systemctl mask', 'systemctl unmask', 'systemctl preset'],
        'systemctl reboot',
      ],
    },
    endings: needed(1),
  },
  {
    where: {
      'node-agent/keep-node': [
        'systemctl is-enabled',
        'stat',
        'sha256sum',
        'getent',
        'uname',
        'df',
        'rpm-ostree kargs',
      ],
    },
    endings: needed(1, { garbage: ends('command.unreadable') }),
  },
  {
    where: { 'node-agent/keep-node': ['rpm-ostree status'] },
    endings: needed(1, { garbage: ends('os.status-not-read') }),
  },
  {
    where: { 'node-agent/keep-node': ['find', 'ostree refs'] },
    endings: alike(goesOn, { hangs: ends('command.timed-out') }),
  },
  {
    // It waits for the lock of the sysroot.
    where: { 'node-agent/keep-node': ['bootc status'] },
    endings: alike(goesOn, { hangs: ends('os.busy', 1, 'holds the sysroot') }),
  },
  {
    where: { 'node-agent/keep-node': ['journalctl'] },
    endings: alike(goesOn, { hangs: ends('command.timed-out') }),
  },
  {
    where: { 'node-agent/keep-node': ['rpm-ostree --version'] },
    endings: alike(ends('os.no-driver', 1, 'there is no rpm-ostree'), {
      hangs: ends('command.timed-out'),
      garbage: goesOn,
    }),
  },
  {
    where: { 'node-agent/keep-node': ['test'] },
    endings: alike(ends('os.not-managed', 1, 'is not an ostree deployment'), {
      hangs: ends('command.timed-out'),
      garbage: goesOn,
    }),
  },
  {
    where: { 'node-agent/keep-node': ['skopeo inspect'] },
    endings: alike(ends('os.image-unreachable', 1, 'registry.example.com'), { missing: warns() }),
  },
  {
    where: { 'node-agent/keep-node': ['rpm-ostree cleanup'] },
    endings: wanted(),
  },
];

/** Commands of the steps of `bootwright node`, on a node with rpm-ostree. What ends there is that command. */
export const nodeCommands: readonly CommandRow[] = [
  {
    where: {
      'os/go-back': ['rpm-ostree rollback'],
      'os/restart': ['systemctl reboot'],
      'os/stage': ['rpm-ostree rebase'],
    },
    endings: needed(1),
  },
  {
    where: { 'os/check-image': ['uname'], 'os/check-space': ['df'] },
    endings: needed(1, { garbage: ends('command.unreadable') }),
  },
  {
    where: {
      'os/look': ['rpm-ostree status'],
      'os/verify': ['rpm-ostree status'],
      'os/verify-rollback': ['rpm-ostree status'],
    },
    endings: needed(1, { garbage: ends('os.status-not-read') }),
  },
  {
    // What does not answer is not there; what hangs waits for the lock of the sysroot.
    where: { 'os/look': ['bootc status'] },
    endings: alike(goesOn, { hangs: ends('os.busy', 1, 'holds the sysroot') }),
  },
  {
    where: { 'os/look': ['rpm-ostree --version'] },
    endings: alike(ends('os.no-driver', 1, 'there is no rpm-ostree'), {
      hangs: ends('command.timed-out'),
      garbage: goesOn,
    }),
  },
  {
    where: { 'os/look': ['test'] },
    endings: alike(ends('os.not-managed', 1, 'is not an ostree deployment'), {
      hangs: ends('command.timed-out'),
      garbage: goesOn,
    }),
  },
  {
    // A pull secret that is not seen is not used; layers that are not seen count as missing; a
    // kernel that is not seen needs no room.
    where: {
      'os/check-image': ['ostree refs', 'test'],
      'os/stage': ['test'],
      'os/verify': ['find'],
    },
    endings: alike(goesOn, { hangs: ends('command.timed-out') }),
  },
  {
    where: { 'os/check-image': ['skopeo inspect'] },
    endings: alike(ends('os.image-unreachable'), { missing: warns() }),
  },
  {
    where: { 'os/clean-up': ['rpm-ostree cleanup'] },
    endings: wanted(),
  },
];
