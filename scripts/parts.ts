import { existsSync } from 'node:fs';
import { agentImageBases, foreignNode } from './parts/agent-image.ts';
import { aptPackages, browser } from './parts/apt-packages.ts';
import { butane } from './parts/butane/butane.ts';
import { coreosInstaller } from './parts/coreos-installer.ts';
import { debianRoot } from './parts/debian-root.ts';
import { docsGenerator } from './parts/docs-generator.ts';
import { ensureParts } from './parts/ensure.ts';
import { liveRoot, qemu } from './parts/guest.ts';
import { capi } from './parts/kube/capi.ts';
import { capi113 } from './parts/kube/capi-1.13.ts';
import { kubeApi } from './parts/kube/kube-api.ts';
import { kubeCrds, kubeData } from './parts/kube/kube-crds.ts';
import { furtherImages } from './parts/further-images.ts';
import { ignitionConvert, ignitionMerge, layeringName } from './parts/oracles.ts';
import { networkLive } from './parts/network-live.ts';
import { nmstatectl } from './parts/nmstatectl.ts';
import { olderNpm } from './parts/older-npm.ts';
import { oldUserland } from './parts/old-userland.ts';
import { osCommit } from './parts/os-commit.ts';
import { osDisk } from './parts/os-disk.ts';
import { osImage } from './parts/os-image.ts';
import { osRootfs } from './parts/os-rootfs.ts';
import { ostreeContainer } from './parts/ostree-container.ts';
import { endedBy, type Part, PartError, partFolder } from './parts/part.ts';
import { imageRegistry, s3Server } from './parts/servers.ts';
import { tinyDisk } from './parts/tiny-disk.ts';
import { goToolchain, rustToolchain, toolchainRoot } from './parts/toolchain.ts';

const usage = `usage: node scripts/parts.ts NAME...       download or build parts, and what they need
       node scripts/parts.ts --list        every part, whether it is here, what it costs
       node scripts/parts.ts --path NAME   where a part is, or will be
`;

/** Every part, in an order in which no part comes before what it needs. */
const allParts: readonly Part[] = [
  aptPackages,
  browser,
  toolchainRoot,
  rustToolchain,
  goToolchain,
  coreosInstaller,
  nmstatectl,
  ostreeContainer,
  tinyDisk,
  qemu,
  osRootfs,
  osCommit,
  osDisk,
  osImage,
  liveRoot,
  networkLive,
  oldUserland,
  s3Server,
  ignitionMerge,
  ignitionConvert,
  layeringName,
  butane,
  kubeApi,
  kubeCrds,
  kubeData,
  capi,
  capi113,
  ...agentImageBases,
  foreignNode,
  furtherImages,
  debianRoot,
  imageRegistry,
  docsGenerator,
  olderNpm,
];

/** Gets, lists and finds the real parts that tests run against; see docs/real-parts.md. */
async function main(args: readonly string[]): Promise<void> {
  const [first, ...rest] = args;
  if (first === undefined || first === '--help') process.stdout.write(usage);
  else if (first === '--list') process.stdout.write(allParts.map(listLine).join(''));
  else if (first === '--path') process.stdout.write(rest.map(placeLine).join(''));
  else await ensureParts(args.map(findPart));
}

function listLine(part: Part): string {
  const state = isHere(part) ? 'here' : 'absent';
  return `${part.name.padEnd(18)} ${state.padEnd(7)} ${part.purpose} (${part.cost})\n`;
}

function isHere(part: Part): boolean {
  return part.kind === 'cached' ? existsSync(partFolder(part)) : part.isReady();
}

function placeLine(name: string): string {
  const part = findPart(name);
  return `${part.kind === 'cached' ? partFolder(part) : part.where()}\n`;
}

function findPart(name: string): Part {
  const part = allParts.find((candidate) => candidate.name === name);
  if (part === undefined) throw new PartError(`unknown part: ${name}; see --list`);
  return part;
}

await endedBy(main(process.argv.slice(2)), PartError);
