import { format, type ProgramCommand, proxyEnvironment } from '../command.ts';

/** Adds the commands about images of pools, on files and on a cluster. */
export function addLayer(layer: ProgramCommand): void {
  addImages(layer);
  addPools(layer);
}

/** Option of the commands that work on a cluster from outside. */
const administrator = ['--kubeconfig <FILE>', 'kubeconfig of a cluster administrator'] as const;

/** Adds the commands that make an image on this machine. */
function addImages(layer: ProgramCommand): void {
  const line =
    'bootwright layer build --os-config mosc.yaml --rendered-config rendered-worker.yaml';
  layer
    .add(
      'build',
      'build and check the OS image of a pool on this machine, and push it',
      'Builds with podman or buildah as an installation does, and prints the name of the image in the store.',
      'With --push-authfile, pushes the base and the image to spec.renderedImagePushSpec, and prints the pull spec.',
    )
    .needs('--os-config <FILE>', 'file with the MachineOSConfig')
    .needs('--rendered-config <FILE>', 'file with the rendered MachineConfig of the pool')
    .addOption(format('text', 'json'))
    .option('--authfile <FILE>', 'registry credentials, in the form of a pull secret')
    .option('--storage <DIR>', 'directory for images; default: the storage of the user')
    .reads(proxyEnvironment)
    .option('--push-authfile <FILE>', 'credentials to push the image with, once it is built')
    .option('--digestfile <FILE>', 'write the digest of the pushed image to this file')
    .option('--on-host', 'in a privileged container: build on its host')
    .example(line, 'build with the storage of the user')
    .example(`${line} --push-authfile push.json`, 'build and push')
    .runs(async () => (await import('./build.ts')).runLayerBuild);
}

/** Adds the commands that work on a cluster. */
function addPools(layer: ProgramCommand): void {
  layer
    .add('status', 'print the OS images of the pools of a cluster')
    .needs(...administrator)
    .option('--pool <NAME>', 'this pool only')
    .addOption(format('text', 'json'))
    .ends({
      8: 'an invariant of a layered pool is violated, and no roll-out is in progress',
    })
    .reads(proxyEnvironment)
    .example('bootwright layer status --kubeconfig kubeconfig', 'show every pool')
    .example(
      'bootwright layer status --kubeconfig kubeconfig --pool worker --format json',
      'one pool, for a script',
    )
    .runs(async () => (await import('./status.ts')).runLayerStatus);
  layer
    .add(
      'unpause',
      'unpause the pools that a stopped installation left paused',
      'A stopped hand-over leaves its pools paused, so that no node loses its OS image. Running the installation again unpauses them too.',
      'A pool that a person has paused stays paused.',
    )
    .needs(...administrator)
    .option('--pool <NAME>', 'this pool only')
    .option('--yes', 'unpause even if nodes lose their OS image')
    .ends({
      2: 'nothing was changed, as nodes would lose their OS image and --yes was not given',
    })
    .reads(proxyEnvironment)
    .example('bootwright layer unpause --kubeconfig kubeconfig', 'unpause these pools')
    .runs(async () => (await import('./in-cluster.ts')).runLayerUnpause);
}
