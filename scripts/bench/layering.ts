import { type LayeredImages, serveLayeredImages } from '../../test/guest/install/layered-images.ts';
import { readNode } from '../../test/guest/install/node-play.ts';
import { linesOf } from '../../test/guest/install/report-lines.ts';
import { prepareStage } from '../../test/guest/install/stage.ts';
import { playUefi, type UefiPlay } from '../../test/guest/install/uefi-play.ts';
import { createTestFolder } from '../../test/guest/rig/test-folder.ts';
import { agentImageBase } from '../parts/agent-image.ts';
import { aptPackages } from '../parts/apt-packages.ts';
import { ensureParts } from '../parts/ensure.ts';
import { imageRegistry } from '../parts/image-registry.ts';
import { liveRoot } from '../parts/live-root.ts';
import { osDisk } from '../parts/os-disk.ts';
import { osImage } from '../parts/os-image.ts';
import { qemu } from '../parts/qemu.ts';
import type { Figure, Findings } from './figure.ts';

const parts = [aptPackages, qemu, osDisk, liveRoot, agentImageBase, osImage, imageRegistry];
const command = 'npm run bench -- layering';
const mebibyte = 1024 ** 2;

/** What an image that is built during an installation costs a machine, and what it saves. */
export async function measureLayering(): Promise<Findings> {
  await ensureParts(parts);
  using folder = createTestFolder('bench-layering');
  const stage = await prepareStage(folder.path);
  await using images = await serveLayeredImages(folder.path);
  const play = await playUefi(stage, images);
  return { figures: figuresOf(images, play), section: sectionOf(images, play) };
}

function figuresOf(images: LayeredImages, play: UefiPlay): readonly Figure[] {
  const [pulled = Number.NaN] = play.pulled;
  return [
    {
      name: 'boots of a virtual machine until it runs the image that was built',
      unit: 'boots',
      measured: Number(linesOf(play.boot.report, 'boots')[0]),
      bound: 1,
      command,
    },
    {
      name: 'what it pulls of that image',
      unit: 'MiB',
      measured: pulled / mebibyte,
      baseline: {
        name: 'layers that its disk had not',
        measured: images.final.newBytes / mebibyte,
      },
      bound: 1.05,
      command,
    },
    {
      name: 'the image on its disk before the first boot',
      unit: 's',
      measured: deploySeconds(play),
      baseline: { name: 'the restart that it saves', measured: play.back.seconds },
      bound: 1,
      command,
    },
    {
      name: 'added to the critical path: the image built, pushed, and on the disk before the first boot',
      unit: 's',
      measured: images.buildSeconds + deploySeconds(play),
      baseline: {
        name: 'the pull on the running node and the restart that it saves',
        measured: pullSeconds(play) + play.back.seconds,
      },
      bound: 1,
      command,
    },
  ];
}

/** What a node takes that pulls and stages an image once it runs. @throws Error when the play did not come so far */
function pullSeconds({ boot }: UefiPlay): number {
  const staged = readNode(boot).commands.at(-1);
  if (staged?.exitCode !== 0) throw new Error('the node did not stage the image');
  return staged.seconds;
}

/** @throws Error when the play did not come so far */
function deploySeconds({ job }: UefiPlay): number {
  const end = job.runs[1]?.events.find(
    (event) => event.type === 'step.finished' && event.step === 'image/overwrite-os',
  );
  if (end?.type !== 'step.finished') throw new Error('the agent did not deploy the image');
  return end.duration / 1000;
}

const sectionOf = (
  images: LayeredImages,
  play: UefiPlay,
): string => `## What a built image costs and saves

A virtual machine without KVM is installed by UEFI with the real coreos-installer, from the image of Lab CoreOS, and gets an
image that \`bootwright layer build\` made of a MachineOSConfig. The image is on the disk before the first boot, so the time
for that is added to the installation: ${deploySeconds(play).toFixed(0)} s here. Without it the machine would boot the system of its
disk, pull the same layers then, and restart: ${play.back.seconds.toFixed(0)} s here, and the pull again.

The image is built beside the start of the control plane, once for a pool, and masters wait for it: built, checked and pushed
in ${images.buildSeconds.toFixed(0)} s here, outside of the virtual machine. That is what layering adds to the critical path, together with the time on the
disk; what it saves is the pull on a node that runs (${pullSeconds(play).toFixed(0)} s here, of another such image) and the restart. With an image of many
packages the build takes longer and the saving stays; the real system of a release makes both pulls longer.
`;
