import { alike, type CommandRow, ends, goesOn, needed, wanted, warns } from './commands.ts';

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
    // What does not answer is not there; what hangs may be at work.
    where: { 'os/look': ['bootc status', 'ostree container image'] },
    endings: alike(goesOn, { hangs: ends('command.timed-out') }),
  },
  {
    where: { 'os/look': ['rpm-ostree --version'] },
    endings: alike(ends('os.status-not-read', 1, 'ostree admin status names no booted'), {
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
    // A pull secret that is not seen is not used; layers that are not seen are counted as missing.
    where: { 'os/check-image': ['ostree refs', 'test'], 'os/stage': ['test'] },
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
