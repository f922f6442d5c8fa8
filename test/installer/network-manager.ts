import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { partFolder } from '../../scripts/parts/part.ts';
import { networkManager } from '../../scripts/parts/scripted.ts';

/** Puts the `nmcli` of the cached part below a folder; resolves with a PATH that begins with it. */
export function networkManagerOnPath(folder: string): string {
  const bin = join(folder, 'bin');
  mkdirSync(bin, { recursive: true });
  const tree = join(partFolder(networkManager), 'tree');
  writeFileSync(join(bin, 'nmcli'), `#!/bin/sh\nexec chroot '${tree}' nmcli "$@"\n`);
  chmodSync(join(bin, 'nmcli'), 0o755);
  return `${bin}:${process.env['PATH'] ?? ''}`;
}
