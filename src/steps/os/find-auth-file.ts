import { type AskedHost, ask } from './read-host.ts';

/** Where ostree-rs-ext looks for pull secrets, in its order; bootc and rpm-ostree are built on it. */
const ostreeAuthFiles = [
  '/run/ostree/auth.json',
  '/etc/ostree/auth.json',
  '/usr/lib/ostree/auth.json',
] as const;

/** Pull secrets of an OpenShift node. */
const kubeletAuthFile = '/var/lib/kubelet/config.json';

/** The pull secrets that are there. */
export interface AuthFile {
  readonly path: string;
  /** ostree does not look there by itself. */
  readonly isKubelets: boolean;
}

/** Finds the pull secrets that a pull will use. */
export async function findAuthFile(asked: AskedHost): Promise<AuthFile | undefined> {
  for (const path of [...ostreeAuthFiles, kubeletAuthFile]) {
    if ((await ask(asked, ['test', '-e', path])) !== undefined) {
      return { path, isKubelets: path === kubeletAuthFile };
    }
  }
  return undefined;
}

/**
 * Lets ostree find the pull secrets of the kubelet, as the Machine Config Daemon does; the link is
 * gone with the next boot.
 */
export const linkAuthArgvs = [
  ['mkdir', '-p', '/run/ostree'],
  ['ln', '-sfn', kubeletAuthFile, ostreeAuthFiles[0]],
] as const;
