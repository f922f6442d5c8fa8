import { Option } from 'commander';
import {
  inPod,
  ofManagement,
  podEnvironment,
  type ProgramCommand,
  proxyEnvironment,
} from '../command.ts';

/** The providers of Cluster API, and what installs by them. */
export function addCapi(capi: ProgramCommand): void {
  inPod(
    capi.add(
      'manager',
      'in the management cluster: run the providers',
      'Run by a deployment for each provider. Of a flag that is given twice the last one counts. It ends by a signal only; the next run continues.',
    ),
  )
    .needs('--controllers <PROVIDERS>', 'bootstrap, control-plane, or both with a comma')
    .option('--namespace <NAME>', 'work in one namespace; default: in all')
    .option(
      '--webhook-address <ADDR>',
      'answer the API server about objects on HOST:PORT, by HTTPS',
    )
    .option('--inventory-address <ADDR>', 'answer the agents of hosts on HOST:PORT')
    .option('--inventory-url <URL>', 'where hosts reach that address')
    .option('--certificate-folder <DIR>', 'tls.crt, tls.key and ca.crt of what is served')
    .option('--health-address <ADDR>', 'serve /healthz and /readyz on HOST:PORT')
    .reads({
      POD_NAMESPACE: 'namespace of the leases; default: that of the pod, or of the provider',
      OPENSHIFT_INSTALL: "the installer as a program; default: Jobs of the payload's own image",
      BOOTWRIGHT_IMAGE: 'the image that it runs from, for those Jobs',
      ...podEnvironment,
    })
    .runs(async () => (await import('./manager.ts')).runCapiManager);
  capi
    .add(
      'assets',
      'in a Job: keep what the installer made as a Secret',
      'Run behind the installer of the release, by the manager alone.',
    )
    .needs('--folder <DIRECTORY>', 'folder of the installer')
    .needs('--namespace <NAME>', 'namespace of the control plane')
    .needs('--cluster <NAME>', 'name of the Cluster')
    .needs('--control-plane <NAME>', 'name of the control plane')
    .needs('--uid <UID>', 'its uid')
    .needs('--inputs-hash <HASH>', 'of what the files were made of')
    .option('--mco-image <IMAGE>', 'machine-config-operator of the release')
    .option('--coreos-image <IMAGE>', 'CoreOS of the release as a container')
    .reads(podEnvironment)
    .runs(async () => (await import('./assets.ts')).runCapiAssets);
  addCapiInstall(capi);
  addCapiFollow(capi);
}

const installFolder = (): Option =>
  new Option('--dir <FOLDER>', 'directory of openshift-install').default('.', 'this directory');

/** Adds the commands that begin an installation by Cluster API. */
function addCapiInstall(capi: ProgramCommand): void {
  capi
    .add(
      'render',
      'write what Cluster API makes a cluster from',
      'Reads install-config.yaml, or the state that the installer has left, and writes numbered files to infrastructure-manifests. A file that is there stays.',
    )
    .addOption(installFolder())
    .needs('--release-image <PULLSPEC>', 'release image, by its digest')
    .needs('--openshift-version <VERSION>', 'version of that release, as 4.20.0')
    .needs('--agent-image <PULLSPEC>', 'image of this program for the hosts')
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
    .option('--root-device-hints <HINTS>', 'in its place, what the disk of every host is known by')
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
    .needs('--kubeconfig <FILE>', 'kubeconfig of the management cluster')
    .option('--check', 'only check the files')
    .reads(proxyEnvironment)
    .ends({
      2: 'a file is wrong, and nothing was changed',
      8: 'somebody else has changed an object',
    })
    .example('bootwright capi apply --dir demo --kubeconfig management', 'begin an installation')
    .runs(async () => (await import('./apply.ts')).runCapiApply);
}

/** Adds the commands about a Cluster that is there. */
function addCapiFollow(capi: ProgramCommand): void {
  ofCluster(
    capi.add(
      'watch',
      'print how the installation of a Cluster fares until it ends',
      'A line for each stage of a host and each condition of the control plane as it changes; a failure with why and what to do. It ends once the cluster is available and its hosts are installed, or the Cluster is deleted. A host that failed may try again by itself, so a failure ends nothing unless asked for.',
    ),
  )
    .option('--timeout <DURATION>', 'end after so long, as 90m')
    .option('--fail-fast', 'end at the first failure')
    .ends({
      2: 'there is no such Cluster, or the command line is wrong',
      7: 'the time is over, and nothing has failed',
      8: 'something of it has failed at the end, or the Cluster was deleted',
    })
    .example(
      'bootwright capi watch --kubeconfig management --cluster demo/demo --timeout 2h',
      'wait for an installation in a script',
    )
    .runs(async () => (await import('./watch.ts')).runCapiWatch);
  ofCluster(
    capi.add(
      'gather',
      'write one archive of what says how a Cluster fares',
      'Objects of the Cluster and of its infrastructure, events, logs of the Jobs of the installer, of hosts that failed and of the managers. No value of a Secret is in it; what may not be read is named in it.',
    ),
  )
    .option('--output <FILE>', 'the archive; default: named by the Cluster and the time, here')
    .example('bootwright capi gather --kubeconfig management --cluster demo/demo', 'for a report')
    .runs(async () => (await import('./gather.ts')).runCapiGather);
}

/** Options of a command about one Cluster. */
const ofCluster = (command: ProgramCommand): ProgramCommand =>
  command
    .needs('--cluster <NAMESPACE/NAME>', 'the Cluster')
    .option(...ofManagement)
    .reads(proxyEnvironment);
