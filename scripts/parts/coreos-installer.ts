import type { CachedPart } from './part.ts';
import { runCargo, toolchainRoot } from './toolchain.ts';

const version = '0.26.0';

/** The real image writer, at `bin/coreos-installer`. Debian does not package it. */
export const coreosInstaller: CachedPart = {
  kind: 'cached',
  name: 'coreos-installer',
  purpose: `coreos-installer ${version}, the image writer`,
  pin: version,
  cost: '4 minutes, 18 MB',
  tools: [toolchainRoot],
  inputs: [],
  files: [import.meta.filename],
  build: (site) =>
    runCargo(site, [
      'install',
      '--locked',
      '--no-track',
      '--bin=coreos-installer',
      `coreos-installer@=${version}`,
    ]),
};
