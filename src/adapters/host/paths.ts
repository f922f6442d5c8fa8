import { join, normalize } from 'node:path/posix';

/**
 * What the container shares with the host by bind mounts (assisted-service, install command). The
 * agent reaches these by itself; everything else is another file on the host than in the
 * container, and is reached by commands.
 */
const shared = ['/opt', '/var/log', '/dev', '/tmp', '/etc/pki'] as const;

/**
 * Where a file of the host is seen by our own process, or undefined when only a command on the
 * host sees it. `root` is where the host's shared directories are mounted, `/` in the container.
 */
export function directPath(root: string, path: string): string | undefined {
  const clean = normalize(path);
  const isShared = shared.some((top) => clean === top || clean.startsWith(`${top}/`));
  return isShared ? join(root, clean) : undefined;
}
