import { addCapiInstall } from './install-commands.ts';
import { inPod, podEnvironment, type ProgramCommand, requiredOption } from '../command.ts';

/** The providers of Cluster API, and what installs by them. */
export function addCapi(capi: ProgramCommand): void {
  inPod(
    capi.add(
      'manager',
      'in the management cluster: run the providers',
      'Run by a deployment for each provider. Of a flag that is given twice the last one counts. It ends by a signal only; the next run continues.',
    ),
  )
    .addOption(
      requiredOption('--controllers <PROVIDERS>', 'bootstrap, control-plane, or both with a comma'),
    )
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
    .addOption(requiredOption('--folder <DIRECTORY>', 'folder of the installer'))
    .addOption(requiredOption('--namespace <NAME>', 'namespace of the control plane'))
    .addOption(requiredOption('--cluster <NAME>', 'name of the Cluster'))
    .addOption(requiredOption('--control-plane <NAME>', 'name of the control plane'))
    .addOption(requiredOption('--uid <UID>', 'its uid'))
    .addOption(requiredOption('--inputs-hash <HASH>', 'of what the files were made of'))
    .option('--mco-image <IMAGE>', 'machine-config-operator of the release')
    .option('--coreos-image <IMAGE>', 'CoreOS of the release as a container')
    .reads(podEnvironment)
    .runs(async () => (await import('./assets.ts')).runCapiAssets);
  addCapiInstall(capi);
}
