import { minutes, seconds } from '../../model/duration.ts';
import { step } from '../step.ts';
import { hasService } from '../conditions.ts';
import { isMultiNode } from './conditions.ts';
import { bootstrapFailure } from './failures.ts';
import { controllerManifests } from './manifests/all.ts';
import { sshMachineConfig } from './manifests/ssh.ts';
import { renderYaml } from './manifests/yaml.ts';
import { publicKeyPath } from './ssh-key.ts';

/** Manifests in it are applied to the new cluster by bootkube. */
const manifestDirectory = '/opt/openshift/manifests';

/** Makes the directory of the manifests. */
export const mkdirManifestsArgv = ['mkdir', '-p', manifestDirectory] as const;

/** Where the MachineConfig with the SSH key goes; the directory comes with bootstrap.ign. */
export const sshManifestPath =
  '/opt/openshift/openshift/99_openshift-machineconfig_99-assisted-installer-master-ssh.yaml';

/** Lays down what lets this host in at the masters by SSH, to gather their logs. */
export const addSshManifest = step({
  id: 'bootstrap/add-ssh-manifest',
  title: 'Let this host in at the other masters',
  uses: ['host'],
  when: isMultiNode,
  limit: minutes(2),
  run: async ({ host, signal }) => {
    const key = (await host.readText(publicKeyPath, signal))?.trim() ?? '';
    if (key === '' || key.includes('\n')) {
      throw bootstrapFailure('bootstrap.no-public-key', `${publicKeyPath} holds no key`);
    }
    const manifest = renderYaml(sshMachineConfig(key));
    await host.writeFile(sshManifestPath, manifest, { signal, mode: 0o644 });
  },
});

/**
 * Lays down the manifests of the controller: the part of the installation that runs in the cluster.
 * Each file is written whole, so nothing of an older one is left (ADR 0011, Q15).
 */
export const addControllerManifests = step({
  id: 'bootstrap/add-controller-manifests',
  title: 'Add the controller to the manifests of the cluster',
  uses: ['host'],
  when: hasService,
  limit: minutes(2),
  explain: ({ images }) => `the controller is ${images.controller}`,
  preview: () => [mkdirManifestsArgv],
  run: async ({ host, config, signal }) => {
    await host.exec(mkdirManifestsArgv, { signal, limit: seconds(20) });
    for (const { name, content, mode } of controllerManifests(config)) {
      await host.writeFile(`${manifestDirectory}/${name}`, content, { signal, mode });
    }
  },
});
