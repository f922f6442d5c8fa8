import { join } from 'node:path';
import { aptPackages } from './apt-packages.ts';
import { osFile } from './os-files.ts';
import type { CachedPart } from './part.ts';

const script = osFile('debian-root.sh');

/** A Debian root file system with a shell, `root.tar`. */
export const debianRoot: CachedPart = {
  kind: 'cached',
  name: 'debian-root',
  purpose: 'a small Debian system, which stands in for the OS image that others are built upon',
  pin: 'Debian trixie',
  cost: '30 seconds, 70 MB',
  tools: [aptPackages],
  inputs: [],
  files: [import.meta.filename, script, osFile('mirror.sh')],
  build: (site) => site.log.run({ argv: [script, join(site.folder, 'root.tar')] }),
};
