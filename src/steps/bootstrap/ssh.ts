import { minutes, seconds } from '../../model/duration.ts';
import { step, type StepScope } from '../step.ts';
import { isMultiNode } from '../conditions.ts';
import { bootstrapFailure } from './failures.ts';
import { renderYaml } from './render-yaml.ts';

/** The SSH directory of root, which is not shared with the container. */
const directory = '/root/.ssh';
const privateName = 'id_rsa';

/** The private key of this host; we never read it. */
const privateKeyPath = `${directory}/${privateName}`;

const publicKeyPath = `${privateKeyPath}.pub`;

const mkdirSshArgv = ['mkdir', '-p', directory] as const;

const makeKeyArgv = ['ssh-keygen', '-q', '-f', privateKeyPath, '-N', ''] as const;

/** Prints the public key of the private key; fails when it is damaged or has a passphrase. */
const derivePublicArgv = ['ssh-keygen', '-y', '-P', '', '-f', privateKeyPath] as const;

/** Sets an unusable private key aside; it may belong to somebody, so it is not removed. */
const setAsideArgv = [
  'mv',
  '--backup=numbered',
  privateKeyPath,
  `${privateKeyPath}.unusable`,
] as const;

/** Creates the directory of the SSH key. */
export const makeSshDirectory = step({
  id: 'bootstrap/make-ssh-directory',
  title: 'Create the directory of the SSH key',
  uses: ['host'],
  limit: seconds(30),
  preview: () => [mkdirSshArgv],
  run: async ({ host, signal }) => {
    await host.exec(mkdirSshArgv, { signal, limit: seconds(20) });
  },
});

/**
 * Generates the key with which this host gathers the logs of the other masters. An existing key is
 * used. Its public key is written again when it is missing or belongs to another key. A key that
 * cannot be read, perhaps of an interrupted run, is set aside.
 */
export const makeSshKey = step({
  id: 'bootstrap/make-ssh-key',
  title: 'Generate an SSH key for the other masters',
  uses: ['host'],
  when: isMultiNode,
  limit: minutes(5),
  preview: () => [makeKeyArgv],
  run: async (scope) => {
    const { host, signal, note } = scope;
    const names = await host.list(directory, signal);
    if (names.includes(privateName)) {
      if (await completeKey(scope)) return;
      note('warn', `${privateKeyPath} cannot be used; setting it aside`);
      await host.exec(setAsideArgv, { signal, limit: seconds(20) });
    }
    await host.exec(makeKeyArgv, { signal, limit: minutes(2) });
  },
});

/** Whether the private key can be used; then its public key is in place, too. */
async function completeKey({ host, signal, note }: StepScope<'host'>): Promise<boolean> {
  const { exitCode, stdout } = await host.exec(derivePublicArgv, {
    signal,
    limit: seconds(30),
    accept: [0, 1, 255],
  });
  const derived = keyOf(stdout);
  if (exitCode !== 0 || derived === undefined) return false;
  const known = keyOf((await host.readText(publicKeyPath, signal)) ?? '');
  if (known === derived) {
    note('info', `using the existing key ${privateKeyPath}`);
    return true;
  }
  note('info', `writing the public key of ${privateKeyPath} again`);
  await host.writeFile(publicKeyPath, `${stdout}\n`, { signal, mode: 0o644 });
  return true;
}

/** Kind and key of a public key, without its comment; undefined for anything else. */
function keyOf(text: string): string | undefined {
  const [kind = '', key = ''] = text.trim().split(/\s+/);
  return /^(?:ssh|ecdsa|sk)-/.test(kind) && key !== '' ? `${kind} ${key}` : undefined;
}

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

/** Where the MachineConfig with the SSH key goes; the directory comes with bootstrap.ign. */
const sshManifestPath =
  '/opt/openshift/openshift/99_openshift-machineconfig_99-assisted-installer-master-ssh.yaml';

/** Writes the MachineConfig that authorizes the key of this host on the masters. */
export const addSshManifest = step({
  id: 'bootstrap/add-ssh-manifest',
  title: "Authorize this host's SSH key on the other masters",
  uses: ['host'],
  when: isMultiNode,
  limit: minutes(2),
  run: async ({ host, signal }) => {
    const key = (await host.readText(publicKeyPath, signal))?.trim() ?? '';
    if (key === '' || key.includes('\n')) {
      throw bootstrapFailure('bootstrap.no-public-key', `${publicKeyPath} has no SSH public key`);
    }
    const manifest = renderYaml(sshMachineConfig(key));
    await host.writeFile(sshManifestPath, manifest, { signal, mode: 0o644 });
  },
});
