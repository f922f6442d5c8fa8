import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { aptPackages } from './apt-packages.ts';
import { osFile } from './os-files.ts';
import {
  type BuildSite,
  type CachedPart,
  type Command,
  type MachinePart,
  partFolder,
} from './part.ts';

/** A language's builder: the machine's own if it is new enough, otherwise the one in the toolchain root. */
interface Toolchain {
  readonly program: 'cargo' | 'go';
  readonly versionArgument: string;
  readonly needed: Version;
}

const rust: Toolchain = { program: 'cargo', versionArgument: '--version', needed: [1, 85] };
const go: Toolchain = { program: 'go', versionArgument: 'version', needed: [1, 26] };

/** What Rust programs are built with. */
export const rustToolchain = toolchainPart('rust-toolchain', rust);

/** What Go programs are built with. */
export const goToolchain = toolchainPart('go-toolchain', go);

/** Runs cargo so that what it installs lands in the folder of the site. */
export async function runCargo(site: BuildSite, args: readonly string[]): Promise<void> {
  await runToolchain(site, { toolchain: rust }, args);
}

/** Builds the Rust program in a folder of the tree, with the newest crates that its Cargo.toml allows. */
export async function buildRust(site: BuildSite, source: string): Promise<void> {
  await runToolchain(site, { toolchain: rust, source }, ['install', '--no-track']);
}

/** Runs go so that what it installs lands in the folder of the site. */
export async function runGo(site: BuildSite, args: readonly string[]): Promise<void> {
  await runToolchain(site, { toolchain: go }, args);
}

/** Builds the Go program in a folder of the tree, with the modules that its go.sum names. */
export async function buildGo(site: BuildSite, source: string): Promise<void> {
  await runToolchain(site, { toolchain: go, source }, ['install', '-trimpath', '.']);
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
  await runToolchain(site, { toolchain: go, source, variables }, args);
}

/** Gets the files of one Go module that the go.mod in a folder of the tree pins, into `modules`. */
export async function downloadGoModule(
  site: BuildSite,
  source: string,
  module: string,
): Promise<void> {
  const variables = { GOMODCACHE: `${site.folder}/modules` };
  const args = ['mod', 'download', '-modcacherw', module];
  await runToolchain(site, { toolchain: go, source, variables }, args);
}

interface Run {
  readonly toolchain: Toolchain;
  readonly source?: string;
  readonly variables?: Readonly<Record<string, string>>;
}

function toolchainPart(name: string, toolchain: Toolchain): MachinePart {
  const needed = toolchain.needed.join('.');
  return {
    kind: 'machine',
    name,
    purpose: `${toolchain.program} ${needed} or newer, the machine's own or Debian's in a root of its own`,
    pin: `at least ${needed}`,
    cost: '2 minutes, 1 GB, where the machine has none',
    get tools() {
      return isOnMachine(toolchain) ? [] : [toolchainRoot];
    },
    isReady: () => isOnMachine(toolchain) || existsSync(partFolder(toolchainRoot)),
    make: async () => {
      // Its tools are made before it, and there is nothing else to do.
    },
    where: () => (isOnMachine(toolchain) ? toolchain.program : partFolder(toolchainRoot)),
  };
}

/** What is thrown away at the end of a build. */
const scratchOf = ({ folder }: BuildSite): string => `${folder}.scratch`;

async function runToolchain(
  site: BuildSite,
  { toolchain, source, variables }: Run,
  args: readonly string[],
): Promise<void> {
  const scratch = scratchOf(site);
  mkdirSync(scratch, { recursive: true });
  try {
    const { program } = toolchain;
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
    await site.log.run(isOnMachine(toolchain) ? command : inRoot(site, command));
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

function isOnMachine(toolchain: Toolchain): boolean {
  const answer = spawnSync(toolchain.program, [toolchain.versionArgument], { encoding: 'utf8' });
  return answer.error === undefined && isAtLeast(answer.stdout, toolchain.needed);
}

/** Debian trixie's cargo 1.85 and its backports' Go 1.26, with what they link against; for machines that have none. */
export const toolchainRoot: CachedPart = {
  kind: 'cached',
  name: 'toolchain-root',
  purpose: 'a Debian trixie tree with cargo and go',
  pin: 'Debian trixie: cargo 1.85, Go 1.26',
  cost: '2 minutes, 1 GB',
  tools: [aptPackages],
  inputs: [],
  files: ['toolchain-root.sh', 'mirror.sh', 'packages/toolchain.txt'].map(osFile),
  build: (site) => site.log.run({ argv: [osFile('toolchain-root.sh'), site.folder] }),
};

/** Major and minor version. */
export type Version = readonly [major: number, minor: number];

/** Whether the first version in a program's own words, such as `cargo 1.85.1 (…)`, is the needed one or newer. */
export function isAtLeast(words: string, needed: Version): boolean {
  const found = /(\d+)\.(\d+)/.exec(words);
  if (found === null) return false;
  const [major, minor] = [Number(found[1]), Number(found[2])];
  return major > needed[0] || (major === needed[0] && minor >= needed[1]);
}
