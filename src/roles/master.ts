import { role } from '../engine/role.ts';
import { setBootEntry } from '../steps/disk/set-boot-entry.ts';
import { fetchHost } from '../steps/ignition/fetch-host.ts';
import { overwriteOs } from '../steps/layering/deploy-image.ts';
import { findRegistryMedia } from '../steps/registry/copy.ts';
import { begin, leave, preflight, prepareFirstBoot, writeSystem } from './phases.ts';

/** Writes the disk of a control-plane node and reboots into it. */
export const master = role('master', {
  title: 'Installs a control-plane node',
  ladder: 'master',
  steps: [...preflight, ...begin, fetchHost, ...writeSystem, ...prepareFirstBoot, ...leave],
});

/** An arbiter is a master for the installer, but does not copy registry data. */
export const arbiter = role('arbiter', {
  title: 'Installs an arbiter node',
  ladder: 'master',
  steps: [
    ...preflight,
    ...begin,
    fetchHost,
    ...writeSystem,
    overwriteOs,
    setBootEntry,
    findRegistryMedia,
    ...leave,
  ],
});
