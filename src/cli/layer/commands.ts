import { format, type ProgramCommand, proxyEnvironment } from '../command.ts';

/** Adds what is done about images of pools, on files and on a cluster. */
export function addLayer(layer: ProgramCommand): void {
  addBuilds(layer);
  addImages(layer);
  addPools(layer);
}

/** Of what works on a cluster from outside. */
const administrator = ['--kubeconfig <FILE>', 'kubeconfig of a cluster administrator'] as const;

const osConfig = ['--os-config <FILE>', 'file with the MachineOSConfig'] as const;

const buildFiles = (command: ProgramCommand): ProgramCommand =>
  command
    .needs(...osConfig)
    .needs('--rendered-config <FILE>', 'file with the rendered MachineConfig of the pool')
    .addOption(format('text', 'json'));

const images = (command: ProgramCommand): ProgramCommand =>
  buildFiles(command)
    .option('--authfile <FILE>', 'registry credentials, in the form of a pull secret')
    .option('--storage <DIR>', 'directory for images; default: the storage of the user')
    .reads(proxyEnvironment);

const buildLine = '--os-config mosc.yaml --rendered-config rendered-worker.yaml';

/** What works on files alone, on any machine. */
function addBuilds(layer: ProgramCommand): void {
  layer
    .add(
      'lint',
      'check MachineOSConfigs and Containerfiles',
      'Finds what a cluster would refuse, and what would fail in a build or on a node.',
    )
    .argument('<FILE...>', 'files with MachineOSConfigs, or Containerfiles')
    .addOption(format('text', 'json'))
    .ends({ 2: 'a finding is an error, or the command line is wrong' })
    .example('bootwright layer lint mosc.yaml Containerfile', 'print the findings, a line each')
    .runs(async () => (await import('../lint.ts')).runLayerLint);
  buildFiles(layer.add('render', 'write the build context of a pool to a directory'))
    .needs('--out <DIR>', 'directory for the build context, empty or absent')
    .example(`bootwright layer render ${buildLine} --out context`, 'write what podman build takes')
    .runs(async () => (await import('./render.ts')).runLayerRender);
  layer
    .add('name', 'print the name of the MachineOSBuild that the cluster would create')
    .needs(...osConfig)
    .needs('--pool <FILE>', 'file with the MachineConfigPool of the running cluster')
    .addOption(format('text', 'json'))
    .needs(
      '--images <FILE>',
      'file with the four fields of the ConfigMap machine-config-osimageurl',
    )
    .example(
      'bootwright layer name --os-config mosc.yaml --pool pool.yaml --images osimageurl.yaml',
      'print one name',
    )
    .runs(async () => (await import('./name.ts')).runLayerName);
}

/** What makes an image on this machine. */
function addImages(layer: ProgramCommand): void {
  images(
    layer.add(
      'build',
      'build and check the OS image of a pool on this machine',
      'Builds with podman or buildah by the code of an installation, and prints the name of the image in the store.',
    ),
  )
    .option('--push-authfile <FILE>', 'credentials to push the image with, once it is built')
    .option('--digestfile <FILE>', 'write the digest of the pushed image to this file')
    .option('--on-host', 'in a privileged container: build on its host')
    .example(`bootwright layer build ${buildLine}`, 'build with the storage of the user')
    .runs(async () => (await import('./build.ts')).runLayerBuild);
  images(
    layer.add(
      'push',
      'push an image that was built here, and print its pull spec',
      'It goes to where its MachineOSConfig says, after its base.',
    ),
  )
    .example(
      `bootwright layer push ${buildLine} --authfile pull-secret.json`,
      'push what was built',
    )
    .runs(async () => (await import('./build.ts')).runLayerPush);
}

/** What works on a cluster. */
function addPools(layer: ProgramCommand): void {
  layer
    .add('status', 'print the images of the pools of a cluster, and what runs them')
    .needs(...administrator)
    .option('--pool <NAME>', 'this pool only')
    .addOption(format('text', 'json'))
    .ends({
      8: 'an invariant of a layered pool is violated, and no roll-out continues that would end it',
    })
    .reads(proxyEnvironment)
    .example('bootwright layer status --kubeconfig kubeconfig', 'show every pool')
    .example(
      'bootwright layer status --kubeconfig kubeconfig --pool worker --format json',
      'one pool, for a script',
    )
    .runs(async () => (await import('./status.ts')).runLayerStatus);
  layer
    .add('rollback', 'return a pool to the OS of its release')
    .needs(...administrator)
    .needs('--pool <NAME>', 'pool to return to the OS of its release')
    .addOption(format('text', 'json'))
    .option('--yes', 'make the change; without it, only print what would happen')
    .ends({ 2: 'nothing was changed, as --yes was not given, or the command line is wrong' })
    .reads(proxyEnvironment)
    .example(
      'bootwright layer rollback --kubeconfig kubeconfig --pool worker',
      'print what would happen',
    )
    .example('bootwright layer rollback --kubeconfig kubeconfig --pool worker --yes', 'do it')
    .runs(async () => (await import('./in-cluster.ts')).runLayerRollback);
  layer
    .add(
      'unpause',
      'end the pauses of pools that a stopped installation has left',
      'A hand-over that is stopped keeps its pools paused, so that no node loses its OS image. Running the installation again ends that too.',
      'A pool that a person has paused stays paused.',
    )
    .needs(...administrator)
    .option('--pool <NAME>', 'this pool only')
    .option('--yes', 'also where nodes lose their OS image by it')
    .ends({
      2: 'nothing was changed, as nodes would lose their OS image and --yes was not given',
    })
    .reads(proxyEnvironment)
    .example('bootwright layer unpause --kubeconfig kubeconfig', 'unpause what was left')
    .runs(async () => (await import('./in-cluster.ts')).runLayerUnpause);
}
