import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';

import { partFolder } from './cache.ts';
import { osFile } from './os-files.ts';
import type { BuildSite, Command, MachinePart } from './part.ts';
import { toolchainRoot } from './toolchain-root.ts';
import { isAtLeast, type Version } from './version.ts';

/** A language's builder: the machine's own if it is new enough, otherwise the one in the toolchain root. */
interface Toolchain {
  readonly program: 'cargo' | 'go';
  readonly versionArgument: string;
  readonly needed: Version;
}

const rust: Toolchain = { program: 'cargo', versionArgument: '--version', needed: [1, 85] };
const go: Toolchain = { program: 'go', versionArgument: 'version', needed: [1, 25] };

/** What Rust programs are built with. */
export const rustToolchain = toolchainPart('rust-toolchain', rust);

/** What Go programs are built with. */
export const goToolchain = toolchainPart('go-toolchain', go);

/** Runs cargo so that what it installs lands in the folder of the site. */
export async function runCargo(site: BuildSite, args: readonly string[]): Promise<void> {
  await runToolchain(site, { toolchain: rust }, args);
}

/** Runs go so that what it installs lands in the folder of the site. */
export async function runGo(site: BuildSite, args: readonly string[]): Promise<void> {
  await runToolchain(site, { toolchain: go }, args);
}

/** Builds the Go program in a folder of the tree, with the modules that its go.sum names. */
export async function buildGo(site: BuildSite, source: string): Promise<void> {
  await runToolchain(site, { toolchain: go, source }, ['install', '-trimpath', '.']);
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

async function runToolchain(
  site: BuildSite,
  { toolchain, source }: { readonly toolchain: Toolchain; readonly source?: string },
  args: readonly string[],
) {
  const scratch = `${site.folder}.scratch`;
  mkdirSync(scratch, { recursive: true });
  try {
    const isOwn = isOnMachine(toolchain);
    if (source !== undefined) cpSync(source, join(scratch, 'source'), { recursive: true });
    const place = source === undefined ? [] : ['-C', join(isOwn ? scratch : '/scratch', 'source')];
    const argv: [string, ...string[]] = [toolchain.program, ...place, ...args];
    await site.log.run((isOwn ? onMachine : inRoot)(site, scratch, argv));
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

function onMachine(site: BuildSite, scratch: string, argv: [string, ...string[]]): Command {
  const environment = { CARGO_TARGET_DIR: scratch, CARGO_INSTALL_ROOT: site.folder };
  return { argv, environment: { ...environment, GOBIN: join(site.folder, 'bin') } };
}

function inRoot(site: BuildSite, scratch: string, argv: [string, ...string[]]): Command {
  const home = join(scratch, 'home');
  mkdirSync(home, { recursive: true });
  for (const name of ['.cargo/config.toml', '.config/go/env']) copyIfThere(name, home);
  const binds = [`${site.folder}=/out`, `${scratch}=/scratch`, `${home}=/root`];
  // The machine's trust store and name servers: whoever stands between us and the registries is known there.
  binds.push('/etc/ssl/certs=/etc/ssl/certs', '/etc/resolv.conf=/etc/resolv.conf');
  const environment = {
    CARGO_TARGET_DIR: '/scratch',
    CARGO_INSTALL_ROOT: '/out',
    GOBIN: '/out/bin',
    CARGO_HTTP_CAINFO: '/etc/ssl/certs/ca-certificates.crt',
    SSL_CERT_FILE: '/etc/ssl/certs/ca-certificates.crt',
  };
  const bindArguments = binds.flatMap((bind) => ['--bind', bind]);
  const root = join(partFolder(toolchainRoot), 'root');
  return { argv: [osFile('in-root.sh'), root, ...bindArguments, '--', ...argv], environment };
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
