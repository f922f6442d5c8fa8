import type { BuildSite, CachedPart } from './part.ts';

/** What people begin with: npm as Debian 12, Node 20, Node 22 and Node 24 have it, each with that Node. */
export const olderNpms = [
  { npm: '9.2.0', node: '18.20.4' },
  { npm: '10.8.2', node: '20.20.2' },
  { npm: '10.9.4', node: '22.21.1' },
  { npm: '11.19.1', node: '24.21.0' },
] as const;

const nodeName = `node-linux-${process.arch}`;

/** The folders of a Node and an npm of `olderNpms`, in the order of PATH; each program is named in one. */
export const olderNpmPath = (folder: string, npm: string): readonly string[] =>
  [`node_modules/${nodeName}/bin`, 'node_modules/.bin'].map((name) => `${folder}/${npm}/${name}`);

/** Versions of npm and Node with which people begin. */
export const olderNpm: CachedPart = {
  kind: 'cached',
  name: 'older-npm',
  purpose: 'npm 9, 10 and 11 with the Node of their time',
  pin: JSON.stringify(olderNpms),
  cost: '30 seconds, 900 MB',
  tools: [],
  inputs: [],
  files: [import.meta.filename],
  build: async ({ folder, log }: BuildSite) => {
    for (const { npm, node } of olderNpms) {
      const names = [`npm@${npm}`, `${nodeName}@${node}`];
      const quiet = ['--ignore-scripts', '--no-audit', '--no-fund'];
      await log.run({
        argv: ['npm', 'install', '--prefix', `${folder}/${npm}`, ...quiet, ...names],
      });
    }
  },
};
