import { aptPackages } from './apt-packages.ts';
import { osFile } from './os-files.ts';
import type { CachedPart } from './part.ts';

/** NetworkManager, in `tree` to change root into: `nmcli --offline` reads and checks keyfiles without a daemon. */
export const networkManager: CachedPart = {
  kind: 'cached',
  name: 'network-manager',
  purpose: 'nmcli, to read keyfiles as NetworkManager does',
  pin: 'Debian trixie',
  cost: '30 seconds, 63 MB',
  tools: [aptPackages],
  inputs: [],
  files: [import.meta.filename, ...['network-manager.sh', 'mirror.sh'].map(osFile)],
  build: (site) => site.log.run({ argv: [osFile('network-manager.sh'), site.folder] }),
};
