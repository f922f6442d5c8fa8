import { agentImageBase } from './agent-image.ts';
import { aptPackages } from './apt-packages.ts';
import { coreosInstaller } from './coreos-installer.ts';
import { ignitionMerge } from './ignition-merge.ts';
import { imageRegistry } from './image-registry.ts';
import { kubeApi } from './kube/kube-api.ts';
import { kubeCrds } from './kube/kube-crds.ts';
import { kubeData } from './kube/kube-data.ts';
import { layeringName } from './layering-name.ts';
import { liveRoot } from './live-root.ts';
import { osCommit } from './os-commit.ts';
import { osDisk } from './os-disk.ts';
import { osImage } from './os-image.ts';
import { osRootfs } from './os-rootfs.ts';
import { ostreeContainer } from './ostree-container.ts';
import type { Part } from './part.ts';
import { qemu } from './qemu.ts';
import { s3Server } from './s3-server.ts';
import { tinyDisk } from './tiny-disk.ts';
import { goToolchain, rustToolchain } from './toolchain.ts';
import { toolchainRoot } from './toolchain-root.ts';

/** Every part, in an order in which no part comes before what it needs. */
export const allParts: readonly Part[] = [
  aptPackages,
  toolchainRoot,
  rustToolchain,
  goToolchain,
  coreosInstaller,
  ostreeContainer,
  tinyDisk,
  qemu,
  osRootfs,
  osCommit,
  osDisk,
  osImage,
  liveRoot,
  s3Server,
  ignitionMerge,
  layeringName,
  kubeApi,
  kubeCrds,
  kubeData,
  agentImageBase,
  imageRegistry,
];
