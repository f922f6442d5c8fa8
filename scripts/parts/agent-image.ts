import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { aptPackages } from './apt-packages.ts';
import { ensurePart } from './ensure.ts';
import { osFile } from './os-files.ts';
import type { BuildSite, CachedPart } from './part.ts';

const top = join(import.meta.dirname, '..', '..');
const base = (name: string): string => join(top, 'images', 'base', name);

/** What the image is made for, by its OCI name; npm knows amd64 as x64. */
export const architectures = ['amd64', 'arm64'] as const;
/** What it is made for of Node's own archive: npm has no Node 24 for these. */
export const furtherArchitectures = ['ppc64le', 's390x'] as const;
export type FurtherArchitecture = (typeof furtherArchitectures)[number];
export type Architecture = (typeof architectures)[number] | FurtherArchitecture;

/** That of this machine. */
export const ownArchitecture: Architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';

/** The base of the agent's image for an architecture, `root.tar`. */
export const agentImageBase = (architecture: Architecture = ownArchitecture): CachedPart => ({
  kind: 'cached',
  name: `agent-image-base-${architecture}`,
  purpose: `the files of Debian that the agent's image for ${architecture} is built upon`,
  pin: 'Debian trixie',
  cost: '10 seconds, 8 MB',
  tools: [aptPackages],
  inputs: [],
  files: [import.meta.filename, base('debian.sh'), base('choose.sh'), osFile('mirror.sh')],
  build: ({ folder, log }) =>
    log.run({ argv: [base('debian.sh'), architecture, join(folder, 'root.tar')] }),
});

/** Those of all architectures. */
export const agentImageBases: readonly CachedPart[] = [
  ...architectures,
  ...furtherArchitectures,
].map(agentImageBase);

const packageOf = (name: Architecture): string => `node-linux-${name === 'amd64' ? 'x64' : name}`;

/** A package of Node as package-lock.json has it. */
interface LockedNode {
  readonly version: string;
  /** sha512 of the package in base64, after `sha512-`. */
  readonly integrity: string;
  /** npm leaves it out where it does not run. */
  readonly optional?: true;
}

/** The same, with its name. */
export type NodePackage = LockedNode & { readonly name: string };

const { packages } = JSON.parse(readFileSync(join(top, 'package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, LockedNode | undefined>>;
};

/** The npm package that holds Node for an architecture: its name, version and checksum. */
export function nodePackage(architecture: Architecture): NodePackage {
  const name = packageOf(architecture);
  const locked = packages[`node_modules/${name}`];
  if (locked === undefined) throw new Error(`package-lock.json has no ${name}`);
  return { ...locked, name };
}

const foreign: Architecture = ownArchitecture === 'amd64' ? 'arm64' : 'amd64';

/** Node for the architecture that this machine has not, in `node_modules`; npm ci leaves it out of the tree. */
export const foreignNode: CachedPart = {
  kind: 'cached',
  name: 'foreign-node',
  purpose: "Node for the agent's image of another architecture",
  pin: JSON.stringify(nodePackage(foreign)),
  cost: '15 seconds, 190 MB',
  tools: [],
  inputs: [],
  files: [import.meta.filename],
  build: installForeign,
};

/** npm holds the package against the checksum, as it does for the tree. */
async function installForeign({ folder, log }: BuildSite): Promise<void> {
  const { name, ...locked } = { ...nodePackage(foreign), optional: undefined };
  const manifest = { dependencies: { [name]: locked.version } };
  const lock = { lockfileVersion: 3, packages: { '': manifest, [`node_modules/${name}`]: locked } };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest));
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify(lock));
  // npm refuses what does not run here without it; npm 9 has no option that names another architecture.
  const options = ['--force', '--ignore-scripts', '--no-audit', '--no-fund'];
  await log.run({ argv: ['npm', 'ci', ...options], cwd: folder });
  await log.run({ argv: ['test', '-x', join(folder, 'node_modules', name, 'bin', 'node')] });
}

/** The folder of Node's package for an architecture. */
export const nodeFolder = async (architecture: Architecture): Promise<string> =>
  join(
    architecture === ownArchitecture ? top : await ensurePart(foreignNode),
    'node_modules',
    packageOf(architecture),
  );
