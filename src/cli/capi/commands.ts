import { Option } from 'commander';
import { managing, podEnvironment, type ProgramCommand } from '../command.ts';

/** Adds the commands of the Cluster API providers, and of installations that use them. */
export function addCapi(capi: ProgramCommand): void {
  managing(
    capi.add(
      'manager',
      'in the management cluster: run a provider',
      'Runs in a Deployment for each provider until a signal stops it; the next run continues. If a flag is given twice, the last one counts.',
    ),
  )
    .addOption(
      new Option('--controllers <PROVIDER>', 'the provider to run; required')
        .choices(['bootstrap', 'control-plane'])
        .makeOptionMandatory(),
    )
    .option('--namespace <NAME>', 'work in one namespace; default: in all')
    .option('--inventory-address <ADDR>', 'answer the agents of hosts on HOST:PORT')
    .option('--inventory-url <URL>', 'URL of the inventory for hosts')
    .option('--certificate-folder <DIR>', 'folder with tls.crt, tls.key and ca.crt of the servers')
    .option('--health-address <ADDR>', 'serve /healthz and /readyz on HOST:PORT')
    .reads({
      POD_NAMESPACE:
        'namespace of the lease; default: the namespace of the pod, or of the provider',
      BOOTWRIGHT_IMAGE: 'image of the manager, for the Jobs of the installer',
      ...podEnvironment,
    })
    .runs(async () => (await import('./manager.ts')).runCapiManager);
  capi
    .add(
      'assets',
      'in a Job: store the files of the installer in a Secret',
      'Runs in the Job that the manager creates, after the installer of the release.',
    )
    .needs('--folder <DIRECTORY>', 'folder of the installer')
    .needs('--namespace <NAME>', 'namespace of the control plane')
    .needs('--cluster <NAME>', 'name of the Cluster')
    .needs('--control-plane <NAME>', 'name of the control plane')
    .needs('--uid <UID>', 'its uid')
    .needs('--inputs-hash <HASH>', 'hash of the inputs of the files')
    .option('--mco-image <IMAGE>', 'machine-config-operator of the release')
    .option('--coreos-image <IMAGE>', 'CoreOS of the release as a container')
    .reads(podEnvironment)
    .runs(async () => (await import('./assets.ts')).runCapiAssets);
  addCapiInstall(capi);
}

const installFolder = (): Option =>
  new Option('--dir <FOLDER>', 'directory of openshift-install').default('.', 'this directory');

/** Adds the command that starts an installation by Cluster API. */
function addCapiInstall(capi: ProgramCommand): void {
  capi
    .add(
      'render',
      'write the objects of a cluster for Cluster API',
      'Checks install-config.yaml, or the state file of the installer, and the files of manifests and openshift. Writes numbered files to infrastructure-manifests, for kubectl apply --server-side. Existing files are kept.',
    )
    .addOption(installFolder())
    .needs('--release-image <PULLSPEC>', 'release image, by its digest')
    .needs('--openshift-version <VERSION>', 'version of that release, such as 4.20.0')
    .needs('--agent-image <PULLSPEC>', 'image of this program for the hosts')
    .addOption(
      new Option(
        '--platform <NAME>',
        'external: write no infrastructure objects, and list the fields to fill in',
      )
        .choices(['metal3', 'external'])
        .default('metal3'),
    )
    .option('--namespace <NAME>', 'namespace of the cluster; default: its name')
    .option(
      '--install-device <DEVICE>',
      'without Metal3: install disk of every host; default: install into the running root',
    )
    .option(
      '--root-device-hints <HINTS>',
      'instead of --install-device: hints for the install disk of every host',
    )
    .option('--image-url <URL>', 'with Metal3: disk image of CoreOS, qcow2')
    .option('--image-checksum <CHECKSUM>', 'with Metal3: SHA-256 of the disk image, or a URL of it')
    .example(
      'bootwright capi render --dir demo --release-image quay.io/…@sha256:… --openshift-version 4.20.0 --agent-image registry.example.com/bootwright:latest --platform external',
      'for an infrastructure provider of your own',
    )
    .runs(async () => (await import('./render.ts')).runCapiRender);
}
