import type { CachedPart } from './part.ts';
import { runCargo, toolchainRoot } from './toolchain.ts';

/** The newest that Rust 1.85 compiles: 2.2.60 wants 1.88. */
const version = '2.2.57';

/** The real `nmstatectl`, at `bin/nmstatectl`, without what reads or changes the network of a machine. Debian does not package it. */
export const nmstatectl: CachedPart = {
  kind: 'cached',
  name: 'nmstatectl',
  purpose: `nmstatectl ${version}, which makes keyfiles of a state of nmstate`,
  pin: version,
  cost: '2 minutes, 7 MB',
  tools: [toolchainRoot],
  inputs: [],
  files: [import.meta.filename],
  build: (site) =>
    runCargo(site, [
      ...['install', '--locked', '--no-track', '--bin=nmstatectl'],
      ...['--no-default-features', '--features=gen_conf'],
      `nmstatectl@=${version}`,
    ]),
};
