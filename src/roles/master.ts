import { role } from '../engine/check.ts';
import * as disk from '../steps/disk/index.ts';
import * as ignition from '../steps/ignition/index.ts';
import * as image from '../steps/image/index.ts';
import * as registry from '../steps/registry/index.ts';
import { leave, lookFirst, makeRoom, prepareFirstBoot, writeSystem } from './parts.ts';

/** Writes the disk of a control-plane node and reboots into it. */
export const master = role('master', {
  title: 'Installs a control-plane node',
  ladder: 'master',
  steps: [
    ...lookFirst,
    ...makeRoom,
    ignition.fetchHost,
    ...writeSystem,
    ...prepareFirstBoot,
    ...leave,
  ],
});

/** An arbiter is a master for the installer, except that it takes no registry data along. */
export const arbiter = role('arbiter', {
  title: 'Installs an arbiter node',
  ladder: 'master',
  steps: [
    ...lookFirst,
    ...makeRoom,
    ignition.fetchHost,
    ...writeSystem,
    image.overwriteOs,
    disk.setBootEntry,
    registry.findMedia,
    ...leave,
  ],
});
