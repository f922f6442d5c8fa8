import { copyFileSync, cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { aptPackages } from './apt-packages.ts';
import { osFile } from './os-files.ts';
import { type BuildSite, type CachedPart, type Command, partFolder } from './part.ts';

/** Runs cargo so that what it installs lands in the folder of the site. */
export async function runCargo(site: BuildSite, args: readonly string[]): Promise<void> {
  await runToolchain(site, { program: 'cargo' }, args);
}

/** Builds the Rust program in a folder of the tree, with the newest crates that its Cargo.toml allows. */
export async function buildRust(site: BuildSite, source: string): Promise<void> {
  await runToolchain(site, { program: 'cargo', source }, ['install', '--no-track']);
}

/** Runs go so that what it installs lands in the folder of the site. */
export async function runGo(site: BuildSite, args: readonly string[]): Promise<void> {
  await runToolchain(site, { program: 'go' }, args);
}

/** Builds the Go program in a folder of the tree, with the modules that its go.sum names. */
export async function buildGo(site: BuildSite, source: string): Promise<void> {
  await runToolchain(site, { program: 'go', source }, ['install', '-trimpath', '.']);
}

/** Several Go programs of one module of pins. */
export interface GoPrograms {
  /** The folder of the go.mod and go.sum that pin all modules. */
  readonly source: string;
  /** Import paths of the main packages. */
  readonly packages: readonly string[];
  /** Flags of the linker. */
  readonly linkerFlags: string;
}

/** Builds Go programs into `bin`, without C and with a build cache that ends with the build. */
export async function buildGoPrograms(site: BuildSite, programs: GoPrograms): Promise<void> {
  const { source, packages, linkerFlags } = programs;
  const scratch = scratchOf(site);
  const variables = { CGO_ENABLED: '0', GOCACHE: `${scratch}/build-cache`, GOTMPDIR: scratch };
  const args = ['install', '-trimpath', '-ldflags', linkerFlags, ...packages];
  await runToolchain(site, { program: 'go', source, variables }, args);
}

/** Gets the files of one Go module that the go.mod in a folder of the tree pins, into `modules`. */
export async function downloadGoModule(
  site: BuildSite,
  source: string,
  module: string,
): Promise<void> {
  const variables = { GOMODCACHE: `${site.folder}/modules` };
  const args = ['mod', 'download', '-modcacherw', module];
  await runToolchain(site, { program: 'go', source, variables }, args);
}

interface Run {
  readonly program: 'cargo' | 'go';
  readonly source?: string;
  readonly variables?: Readonly<Record<string, string>>;
}

/** The folder that is removed at the end of a build. */
const scratchOf = ({ folder }: BuildSite): string => `${folder}.scratch`;

async function runToolchain(
  site: BuildSite,
  { program, source, variables }: Run,
  args: readonly string[],
): Promise<void> {
  const scratch = scratchOf(site);
  mkdirSync(scratch, { recursive: true });
  try {
    const copy = join(scratch, 'source');
    if (source !== undefined) cpSync(source, copy, { recursive: true });
    const place = program === 'go' ? ['-C', copy] : ['--path', copy];
    const at = source === undefined ? [] : place;
    const words = program === 'go' ? [...at, ...args] : [...args, ...at];
    const environment = {
      CARGO_TARGET_DIR: scratch,
      CARGO_INSTALL_ROOT: site.folder,
      GOBIN: join(site.folder, 'bin'),
      ...variables,
    };
    const command: Command = { argv: [program, ...words], environment };
    await site.log.run(inRoot(site, command));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

/** The same command in the toolchain root, where the folders of the build have the same paths. */
function inRoot(site: BuildSite, { argv, environment }: Command): Command {
  const scratch = scratchOf(site);
  const home = join(scratch, 'home');
  mkdirSync(home, { recursive: true });
  for (const name of ['.cargo/config.toml', '.config/go/env']) copyIfThere(name, home);
  const binds = [`${home}=/root`, `${site.folder}=${site.folder}`, `${scratch}=${scratch}`];
  // The machine's trust store and name servers: a proxy between us and the registries is known there.
  binds.push('/etc/ssl/certs=/etc/ssl/certs', '/etc/resolv.conf=/etc/resolv.conf');
  const trust = '/etc/ssl/certs/ca-certificates.crt';
  const root = join(partFolder(toolchainRoot), 'root');
  return {
    argv: [osFile('in-root.sh'), root, ...binds.flatMap((bind) => ['--bind', bind]), '--', ...argv],
    environment: { ...environment, CARGO_HTTP_CAINFO: trust, SSL_CERT_FILE: trust },
  };
}

function copyIfThere(name: string, home: string): void {
  const source = join(homedir(), name);
  if (!existsSync(source)) return;
  mkdirSync(dirname(join(home, name)), { recursive: true });
  copyFileSync(source, join(home, name));
}

/**
 * Rust and Go in a Debian 12 tree. All parts are built in it, whatever the machine has, so that one build serves
 * each machine: what links to the C library of Debian 13 does not start on Debian 12.
 */
export const toolchainRoot: CachedPart = {
  kind: 'cached',
  name: 'toolchain-root',
  purpose: 'a Debian 12 tree with cargo and go, which all programs are built in',
  pin: 'Debian 12: cargo 1.85; Go 1.26 of Debian 13 backports',
  cost: '2 minutes, 1 GB',
  tools: [aptPackages],
  inputs: [],
  files: ['toolchain-root.sh', 'mirror.sh', 'packages/toolchain.txt'].map(osFile),
  build: (site) => site.log.run({ argv: [osFile('toolchain-root.sh'), site.folder] }),
};
