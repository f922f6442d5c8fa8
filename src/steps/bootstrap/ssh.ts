import { minutes, seconds } from '../../model/duration.ts';
import { step, type StepScope } from '../step.ts';
import { isMultiNode } from '../conditions.ts';
import { bootstrapFailure } from './failures.ts';
import { renderYaml } from './render-yaml.ts';

/** Where ssh of root looks for keys; not in what the container shares with the host. */
const directory = '/root/.ssh';
const privateName = 'id_rsa';

/** The private key of this host; it is never read by us. */
const privateKeyPath = `${directory}/${privateName}`;

/** Its public half, which the masters get. */
const publicKeyPath = `${privateKeyPath}.pub`;

/** Makes the directory of the key. */
const mkdirSshArgv = ['mkdir', '-p', directory] as const;

/** Makes a key without a passphrase. */
const makeKeyArgv = ['ssh-keygen', '-q', '-f', privateKeyPath, '-N', ''] as const;

/** Prints the public half of the private key; fails for one that is damaged or has a passphrase. */
const derivePublicArgv = ['ssh-keygen', '-y', '-P', '', '-f', privateKeyPath] as const;

/** Sets a private key aside that cannot be used; it may be somebody's, so it is not removed. */
const setAsideArgv = [
  'mv',
  '--backup=numbered',
  privateKeyPath,
  `${privateKeyPath}.unusable`,
] as const;

/** Makes the directory that the SSH key goes to. */
export const makeSshDirectory = step({
  id: 'bootstrap/make-ssh-directory',
  title: 'Make the directory of the SSH key',
  uses: ['host'],
  limit: seconds(30),
  preview: () => [mkdirSshArgv],
  run: async ({ host, signal }) => {
    await host.exec(mkdirSshArgv, { signal, limit: seconds(20) });
  },
});

/**
 * Makes the key by which this host reaches the other masters to gather their logs. A key that is
 * there is used. One that lost its public half, or has that of another key, gets it back; one that
 * cannot be read, as an interrupted run may leave it, is set aside.
 */
export const makeSshKey = step({
  id: 'bootstrap/make-ssh-key',
  title: 'Make an SSH key for the other masters',
  uses: ['host'],
  when: isMultiNode,
  limit: minutes(5),
  preview: () => [makeKeyArgv],
  run: async (scope) => {
    const { host, signal, note } = scope;
    const names = await host.list(directory, signal);
    if (names.includes(privateName)) {
      if (await completeKey(scope)) return;
      note('warn', `${privateKeyPath} cannot be used and is set aside`);
      await host.exec(setAsideArgv, { signal, limit: seconds(20) });
    }
    await host.exec(makeKeyArgv, { signal, limit: minutes(2) });
  },
});

/** Whether the private key can be used; then its public half is there and is its own. */
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
    note('info', `the key ${privateKeyPath} is used`);
    return true;
  }
  note('info', `the public half of ${privateKeyPath} is written anew`);
  await host.writeFile(publicKeyPath, `${stdout}\n`, { signal, mode: 0o644 });
  return true;
}

/** Kind and key of a public key, without its comment; undefined for anything else. */
function keyOf(text: string): string | undefined {
  const [kind = '', key = ''] = text.trim().split(/\s+/);
  return /^(?:ssh|ecdsa|sk)-/.test(kind) && key !== '' ? `${kind} ${key}` : undefined;
}

/** Lets a key in at the masters, so that the bootstrap host can gather their logs. */
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
