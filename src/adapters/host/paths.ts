import { join, normalize } from 'node:path/posix';

/**
 * What the container shares with the host by bind mounts (assisted-service, install command). The
 * agent reaches these by itself; everything else is another file on the host than in the
 * container, and is reached by commands.
 */
const shared = ['/opt', '/var/log', '/dev', '/tmp', '/etc/pki'] as const;

/** Whether a file of the host is seen by our own process too. */
export function isShared(path: string): boolean {
  const clean = normalize(path);
  return shared.some((top) => clean === top || clean.startsWith(`${top}/`));
}

/** Whether a directory is not shared itself, but one below it is. */
export function isAboveShared(path: string): boolean {
  const clean = normalize(path);
  const prefix = clean === '/' ? clean : `${clean}/`;
  return shared.some((top) => top.startsWith(prefix));
}

/**
 * Where a file of the host is seen by our own process, or undefined when only a command on the
 * host sees it. `root` is where the host's shared directories are mounted, `/` in the container.
 */
export const directPath = (root: string, path: string): string | undefined =>
  isShared(path) ? join(root, normalize(path)) : undefined;
