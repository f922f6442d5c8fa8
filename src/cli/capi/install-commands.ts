import { Option } from 'commander';
import { type ProgramCommand, proxyEnvironment, requiredOption } from '../command.ts';

const installFolder = (): Option =>
  new Option('--dir <FOLDER>', 'directory of openshift-install').default('.', 'this directory');

/** Adds the commands that begin an installation by Cluster API. */
export function addCapiInstall(capi: ProgramCommand): void {
  capi
    .add(
      'render',
      'write what Cluster API makes a cluster from',
      'Reads install-config.yaml, or the state that the installer has left, and writes numbered files to infrastructure-manifests. A file that is there stays.',
    )
    .addOption(installFolder())
    .addOption(requiredOption('--release-image <PULLSPEC>', 'release image, by its digest'))
    .addOption(
      requiredOption('--openshift-version <VERSION>', 'version of that release, as 4.20.0'),
    )
    .addOption(requiredOption('--agent-image <PULLSPEC>', 'image of this program for the hosts'))
    .addOption(
      new Option(
        '--platform <NAME>',
        'external: leave the infrastructure to you, and list what to fill in',
      )
        .choices(['metal3', 'external'])
        .default('metal3'),
    )
    .option('--namespace <NAME>', 'namespace of the cluster; default: its name')
    .option(
      '--install-device <DEVICE>',
      'disk of every host; default: install into the system that runs',
    )
    .option('--image-url <URL>', 'with Metal3: disk image of CoreOS, qcow2')
    .option('--image-checksum <CHECKSUM>', 'with Metal3: its SHA-256, or where that is')
    .example(
      'bootwright capi render --dir demo --release-image quay.io/…@sha256:… --openshift-version 4.20.0 --agent-image registry.example.com/bootwright:latest --platform external',
      'for an infrastructure provider of your own',
    )
    .runs(async () => (await import('./render.ts')).runCapiRender);
  capi
    .add(
      'apply',
      'check the files of an installation, and apply them',
      'Wraps manifests, openshift, install-config and state into Secrets and applies them with infrastructure-manifests, in order. What somebody else has changed in the cluster stops it.',
    )
    .addOption(installFolder())
    .addOption(requiredOption('--kubeconfig <FILE>', 'kubeconfig of the management cluster'))
    .option('--check', 'only check the files')
    .reads(proxyEnvironment)
    .ends({
      2: 'a file is wrong, and nothing was changed',
      8: 'somebody else has changed an object',
    })
    .example('bootwright capi apply --dir demo --kubeconfig management', 'begin an installation')
    .runs(async () => (await import('./apply.ts')).runCapiApply);
}
