// What the cluster outside sees of a bootstrap host that is a virtual machine.
import { execFile } from 'node:child_process';
import { open, stat } from 'node:fs/promises';
import { promisify } from 'node:util';
import { configServerLog } from '../cluster/config-server-log.ts';
import { hostFiles } from '../host/files.ts';
import type { Machine } from '../host/machine.ts';
import { unitsOf } from '../host/units.ts';

/** The files that such a host has given away and gets, and the units that it has started. */
export interface BootstrapMirror extends Pick<Machine, 'files' | 'units'> {
  /** Takes files that the host gives, as a tar. */
  readonly take: (tar: Uint8Array) => Promise<void>;
  /** What the log of its machine-config-server has from a byte on. */
  readonly configServerLogFrom: (byte: number) => Promise<Uint8Array>;
}

/** Units whose life the cluster plays. */
const playedUnits = ['bootkube.service', 'progress.service'];

/** Makes a mirror whose files lie below a folder. */
export function bootstrapMirror(root: string): BootstrapMirror {
  const files = hostFiles(root);
  return {
    files,
    units: unitsOf([], playedUnits),
    take: async (tar) => {
      const unpacking = promisify(execFile)('tar', ['--extract', '--directory', root]);
      unpacking.child.stdin?.end(tar);
      await unpacking;
    },
    configServerLogFrom: async (byte) => {
      const path = await files.real(`/var/log/containers/${configServerLog}`);
      const size = await stat(path).then(
        (found) => found.size,
        () => 0,
      );
      if (size <= byte) return new Uint8Array();
      await using log = await open(path);
      const { buffer } = await log.read(Buffer.alloc(size - byte), 0, size - byte, byte);
      return buffer;
    },
  };
}
