import { all } from '../../engine/condition.ts';
import { parseValidConfig } from '../../ignition/parse.ts';
import { embedServed, overlayImage } from '../../layering/served-config.ts';
import { minutes } from '../../model/duration.ts';
import { takesBuiltImage, writesDisk } from '../conditions.ts';
import { leaveEarlierMounts } from '../disk/in-use.ts';
import { TargetDisk } from '../disk/facts.ts';
import { lsblkArgv } from '../disk/lsblk.ts';
import { HostIgnition } from '../ignition/fetch-host.ts';
import { findWrittenDisk } from '../image/deploy-final.ts';
import { leaveCommands, mountCommands, type UndoableCommand } from '../image/overwrite-argv.ts';
import { runUndoable } from '../image/undoable.ts';
import { step } from '../step.ts';
import { readServed } from './deploy-worker-image.ts';
import { WorkerBoot, WorkerImage } from './worker-facts.ts';

/** Where the boot partition is mounted meanwhile. */
const place = '/mnt';

/** The Ignition of this host as the first start reads it (coreos-installer, `install.rs`). */
const onDisk = `${place}/ignition/config.ign`;

/**
 * Lets the first boot run with the image laid over what the machine-config-server serves: the node joins as one
 * that runs the image. It comes after the image was written, when it is certain that the first boot ends in it.
 */
export const overlayWorkerConfig = step({
  id: 'layering/overlay-worker-config',
  title: 'Tell the node that it runs the built image',
  uses: ['host'],
  needs: { disk: TargetDisk, ignition: HostIgnition, image: WorkerImage, boot: WorkerBoot },
  when: all(writesDisk, takesBuiltImage),
  skipIf: ({ image, boot }) => {
    if (boot.kind === 'stock') return boot.why;
    return image.kind === 'served' ? 'the cluster serves the built image by itself' : undefined;
  },
  destroys: true,
  touches: ['disk:install'],
  limit: minutes(15),
  preview: (_config, { ignition }) => [
    lsblkArgv,
    ...overlayCommands('<boot partition>', ignition.path).map(({ argv }) => argv),
  ],
  run: async (scope, { disk, ignition, image }) => {
    if (image.kind === 'stock') return;
    const { host, signal } = scope;
    const overlaid = overlayImage(await readServed(scope, image.served), image.image);
    const whole = embedServed(await readServed(scope, ignition.path), overlaid);
    // A host that boots with a broken config is lost until a person comes.
    parseValidConfig(whole);
    parseValidConfig(overlaid);
    await host.writeFile(ignition.path, whole, { signal, mode: 0o600 });
    const written = await findWrittenDisk(scope, disk);
    await leaveEarlierMounts(scope, written.disk, [`${place}/boot`, place]);
    await runUndoable(
      scope,
      overlayCommands(written.boot.path, ignition.path),
      ({ argv, accept = [0] }) => host.exec(argv, { signal, accept, limit: minutes(2) }),
    );
  },
});

/** The commands that put another Ignition on the written disk, in one stroke. */
export function overlayCommands(boot: string, ignition: string): readonly UndoableCommand[] {
  const beside = `${onDisk}.new`;
  return [
    ...mountCommands(boot, place),
    { argv: ['install', '-D', '--mode=0600', ignition, beside] },
    { argv: ['sync', '--file-system', place] },
    { argv: ['mv', '--force', beside, onDisk] },
    { argv: ['cmp', ignition, onDisk] },
    ...leaveCommands(place),
  ];
}
