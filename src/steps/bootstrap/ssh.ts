import { minutes } from '../../model/duration.ts';
import { step } from '../step.ts';
import { isMultiNode } from '../conditions.ts';
import { bootstrapFailure } from './failures.ts';
import { renderYaml } from './render-yaml.ts';

/** The SSH directory of root; the container does not share it. */
const directory = '/root/.ssh';
const privateName = 'id_rsa';

/** The private key of this host; we never read it. */
const privateKeyPath = `${directory}/${privateName}`;

const publicKeyPath = `${privateKeyPath}.pub`;

const mkdirSshArgv = ['mkdir', '-p', directory] as const;

const makeKeyArgv = ['ssh-keygen', '-q', '-f', privateKeyPath, '-N', ''] as const;

/** Creates the directory of the SSH key. */
export const makeSshDirectory = step({
  id: 'bootstrap/make-ssh-directory',
  title: 'Create the directory of the SSH key',
  uses: ['host'],
  limit: minutes(5),
  preview: () => [mkdirSshArgv],
  run: async ({ host, signal }) => {
    await host.exec(mkdirSshArgv, { signal, limit: minutes(2) });
  },
});

/**
 * Generates the key with which this host gathers the logs of the other masters. An existing key is
 * used. If only one file of the pair exists, ssh-keygen reports that the key exists.
 */
export const makeSshKey = step({
  id: 'bootstrap/make-ssh-key',
  title: 'Generate an SSH key for the other masters',
  uses: ['host'],
  when: isMultiNode,
  limit: minutes(5),
  preview: () => [makeKeyArgv],
  run: async ({ host, signal, note }) => {
    const names = await host.list(directory, signal);
    if (names.includes(privateName) && names.includes(`${privateName}.pub`))
      note('info', `using the existing key ${privateKeyPath}`);
    else await host.exec(makeKeyArgv, { signal, limit: minutes(2) });
  },
});

/** Authorizes a key on the masters, so that the bootstrap host can gather their logs. */
const sshMachineConfig = (publicKey: string): object => ({
  apiVersion: 'machineconfiguration.openshift.io/v1',
  kind: 'MachineConfig',
  metadata: {
    name: '99-assisted-installer-master-ssh',
    labels: { 'machineconfiguration.openshift.io/role': 'master' },
  },
  spec: {
    config: {
      ignition: { version: '3.1.0' },
      passwd: { users: [{ name: 'core', sshAuthorizedKeys: [publicKey] }] },
    },
  },
});

/** Path of the MachineConfig with the SSH key; bootstrap.ign creates the directory. */
const sshManifestPath =
  '/opt/openshift/openshift/99_openshift-machineconfig_99-assisted-installer-master-ssh.yaml';

/** Writes the MachineConfig that authorizes the key of this host on the masters. */
export const addSshManifest = step({
  id: 'bootstrap/add-ssh-manifest',
  title: "Authorize this host's SSH key on the other masters",
  uses: ['host'],
  when: isMultiNode,
  limit: minutes(5),
  run: async ({ host, signal }) => {
    const key = (await host.readText(publicKeyPath, signal))?.trim() ?? '';
    if (key === '' || key.includes('\n')) {
      throw bootstrapFailure('bootstrap.no-public-key', `${publicKeyPath} has no SSH public key`);
    }
    const manifest = renderYaml(sshMachineConfig(key));
    await host.writeFile(sshManifestPath, manifest, { signal, mode: 0o644 });
  },
});
